import type uPlot from 'uplot';

/**
 * Bars of a pixel or two look alike, and thousands of them take longer to draw than to look at. Each column of pixels shows the
 * tallest bar that it covers, so that no peak is lost; all columns of a series are one outline.
 */
export const denseBars: uPlot.Series.PathBuilder = (plot, series, from, to) => {
  const { left, top, width, height } = plot.bbox;
  const values = plot.data[series] ?? [];
  const xOf = scaleOf(plot.scales.x, { start: left, length: width });
  const yOf = scaleOf(plot.scales.y, { start: top + height, length: -height });
  const floor = yOf(0);
  const outline = new Path2D();
  let column = Math.floor(xOf(plot.data[0][from] ?? 0));
  let peak = floor;
  outline.moveTo(column, floor);
  const close = (next: number): void => {
    outline.lineTo(column, peak);
    outline.lineTo(next, peak);
    column = next;
    peak = floor;
  };
  for (let index = from; index <= to; index += 1) {
    const next = Math.floor(xOf(plot.data[0][index] ?? 0));
    if (next > column) close(next);
    peak = Math.min(peak, yOf(values[index] ?? 0));
  }
  close(left + width);
  outline.lineTo(column, floor);
  outline.closePath();
  return { fill: outline, stroke: null };
};

/** Returns the position of a value on the canvas. */
function scaleOf(
  scale: uPlot.Scale | undefined,
  { start, length }: { start: number; length: number },
): (value: number) => number {
  const { min = 0, max = 1 } = scale ?? {};
  return (value) => start + ((value - min) / (max - min)) * length;
}
