// Coordinates on the drawing of a board, and the names of cells in the game's notation.
import type { Descriptor } from "./messages";

/** The width of a cell in units of the drawing. */
export const CELL = 40;

export interface Geometry {
  width: number;
  height: number;
  margin: number;
  x: (cell: number) => number;
  y: (cell: number) => number;
}

export function geometryOf(descriptor: Descriptor, coordinates: boolean): Geometry {
  const falls = descriptor.board_kind === "columns";
  const margin = coordinates ? Math.max(falls ? 22 : 13, descriptor.width * CELL * 0.045) : 8;
  return {
    margin,
    width: descriptor.width * CELL + 2 * margin,
    height: descriptor.height * CELL + 2 * margin,
    x: (cell) => margin + (cell % descriptor.width) * CELL + CELL / 2,
    y: (cell) => margin + Math.floor(cell / descriptor.width) * CELL + CELL / 2,
  };
}

export function columnName(descriptor: Descriptor, column: number): string {
  return descriptor.board_kind === "columns" ? String(column + 1) : String.fromCharCode(97 + column);
}

export function rowName(descriptor: Descriptor, row: number): string {
  return String(descriptor.rows_from_top ? row + 1 : descriptor.height - row);
}

export function cellName(descriptor: Descriptor, cell: number): string {
  const column = cell % descriptor.width;
  const row = Math.floor(cell / descriptor.width);
  if (descriptor.board_kind === "columns") return `${columnName(descriptor, column)}-${descriptor.height - row}`;
  return columnName(descriptor, column).toUpperCase() + rowName(descriptor, row);
}

/** The dots that help the eye on large boards of intersections. */
export function starCells(descriptor: Descriptor): number[] {
  const { width, height } = descriptor;
  if (descriptor.board_kind !== "intersections" || width < 9 || height < 9 || width % 2 === 0 || height % 2 === 0) return [];
  const rows = [3, (height - 1) / 2, height - 4];
  const columns = [3, (width - 1) / 2, width - 4];
  return rows.flatMap((row, i) => columns.filter((_, j) => (i === 1) === (j === 1)).map((column) => row * width + column));
}
