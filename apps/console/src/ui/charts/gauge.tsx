export interface GaugeProps {
  /** Is the part of `whole` that is there. */
  part: number;
  whole: number;
  /** Holds what is set aside, within `part`. */
  held?: number;
  tone: 'accent' | 'warn' | 'bad' | 'good';
  label: string;
  /** Holds what the figures say, for screen readers. */
  text: string;
}

const FILLS = { accent: 'fill-accent', warn: 'fill-warn', bad: 'fill-bad', good: 'fill-good' };
const WIDTH = 1000;

/** Shows the remaining part as a bar drawn in attributes: the content policy allows no style in markup. */
export function Gauge({ part, whole, held = 0, tone, label, text }: GaugeProps) {
  const scale = (value: number): number =>
    whole <= 0 ? 0 : Math.min(WIDTH, Math.max(0, (value / whole) * WIDTH));
  return (
    <div
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={Math.max(whole, 0)}
      aria-valuenow={Math.min(Math.max(part, 0), Math.max(whole, 0))}
      aria-valuetext={text}
      className="h-1.5 overflow-hidden rounded-full bg-sunken"
    >
      <svg
        aria-hidden
        viewBox={`0 0 ${WIDTH} 6`}
        preserveAspectRatio="none"
        className="block h-full w-full"
      >
        <rect width={scale(part)} height="6" className={FILLS[tone]} />
        <rect
          x={scale(part - held)}
          width={scale(part) - scale(part - held)}
          height="6"
          className="fill-bg opacity-50"
        />
      </svg>
    </div>
  );
}
