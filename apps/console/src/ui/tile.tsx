import type { ReactNode } from 'react';
import { Skeleton } from './states.tsx';

/** Shows at most four tiles in a row. */
export function Tiles({ children }: { children: ReactNode }) {
  return <div className="grid grid-cols-2 gap-3 lg:grid-cols-4 [&>*]:min-w-0">{children}</div>;
}

/** Shows a figure with its label, its change since the time before, and its course. */
export function Tile({
  label,
  figure,
  note,
  children,
}: {
  label: string;
  figure: ReactNode;
  note?: ReactNode;
  children?: ReactNode;
}) {
  return (
    <section className="flex flex-col rounded-md border border-line bg-surface px-4 pt-3 pb-3.5">
      <h2 className="text-table text-text-2">{label}</h2>
      <p className="tabular mt-1 text-figure font-semibold max-sm:text-title tracking-tight">
        {figure}
      </p>
      {note !== undefined && <p className="mt-0.5 text-table text-text-3">{note}</p>}
      {children !== undefined && <div className="mt-auto pt-2">{children}</div>}
    </section>
  );
}

/** Has the height of the tiles that are coming, so that nothing below them jumps. */
export function TilesSkeleton() {
  return (
    <Tiles>
      {['a', 'b', 'c', 'd'].map((key) => (
        <div key={key} className="h-36 rounded-md border border-line bg-surface">
          <Skeleton rows={2} />
        </div>
      ))}
    </Tiles>
  );
}
