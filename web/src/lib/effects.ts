// A helper for effects that have to run again for values which their code does not read.

/** The caller reads `values` inside its effect, so the effect runs again when one of them changes. */
export function dependOn(..._values: unknown[]): void {
  // The arguments have been read already.
}
