// Values in the browser's localStorage. Values that it refuses (private windows, full disks) are kept until the tab is closed.

const refused = new Map<string, string>();

export function load<T extends object>(key: string, fallback: T): T {
  try {
    const text = refused.get(key) ?? localStorage.getItem(`qizero.${key}`);
    if (text === null) return fallback;
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...fallback, ...value } : fallback;
  } catch {
    return fallback;
  }
}

export function save(key: string, value: object): void {
  const text = JSON.stringify(value);
  try {
    localStorage.setItem(`qizero.${key}`, text);
    refused.delete(key);
  } catch {
    refused.set(key, text);
  }
}
