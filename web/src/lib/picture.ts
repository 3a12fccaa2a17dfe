// The board as a PNG image: a copy of the drawing with its computed styles, painted on a canvas.

const properties = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-linecap", "stroke-dasharray", "opacity", "font-size", "font-family", "font-weight", "text-anchor", "stop-color", "transform"];

export async function boardPicture(board: SVGSVGElement, scale = 3): Promise<Blob | null> {
  const copy = board.cloneNode(true) as SVGSVGElement;
  const originals = [board, ...board.querySelectorAll<SVGElement>("*")];
  const copies = [copy, ...copy.querySelectorAll<SVGElement>("*")];
  originals.forEach((original, index) => {
    const style = getComputedStyle(original);
    const target = copies[index];
    for (const name of properties) target?.style.setProperty(name, style.getPropertyValue(name));
  });
  copy.querySelectorAll('[role="row"]').forEach((row) => row.remove());
  copy.style.removeProperty("transform");
  const { width, height } = board.viewBox.baseVal;
  copy.setAttribute("width", String(width * scale));
  copy.setAttribute("height", String(height * scale));
  const url = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.getContext("2d")?.drawImage(image, 0, 0);
    return await new Promise((done) => canvas.toBlob(done, "image/png"));
  } finally {
    URL.revokeObjectURL(url);
  }
}

export function download(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
