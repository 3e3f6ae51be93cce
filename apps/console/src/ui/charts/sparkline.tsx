const WIDTH = 120;
const HEIGHT = 28;

/** Draws a course without axes, beside its figure. */
export function Sparkline({ values }: { values: readonly number[] }) {
  const most = Math.max(...values, 0);
  const step = WIDTH / Math.max(values.length, 1);
  return (
    <svg
      aria-hidden
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      className="block h-7 w-full"
    >
      {values.map((value, index) => {
        const height = most === 0 ? 1 : Math.max(1, (value / most) * HEIGHT);
        return (
          <rect
            key={index}
            x={index * step}
            y={HEIGHT - height}
            width={step * 0.75}
            height={height}
            className={value === 0 ? 'fill-line' : 'fill-series-1'}
          />
        );
      })}
    </svg>
  );
}
