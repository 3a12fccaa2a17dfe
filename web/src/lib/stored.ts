// Values that the browser keeps between visits. A browser that refuses to keep them is no reason to fail.

export function load<T extends object>(key: string, fallback: T): T {
  try {
    const text = localStorage.getItem(`qizero.${key}`);
    if (text === null) return fallback;
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...fallback, ...value } : fallback;
  } catch {
    return fallback;
  }
}

export function save(key: string, value: object): void {
  try {
    localStorage.setItem(`qizero.${key}`, JSON.stringify(value));
  } catch {
    // Private windows and full disks: the page works without.
  }
}
