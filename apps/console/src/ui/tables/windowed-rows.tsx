import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { useLayoutEffect, useRef, useState, type ReactElement } from 'react';

const ROW_HEIGHT = 40;
const OVERSCAN = 12;

/** Draws the rows of a long table that are near the window; empty space replaces the others, so that the page scrolls as if all were there. */
export function WindowedRows({
  count,
  columns,
  row,
}: {
  count: number;
  columns: number;
  row: (index: number, measure: (element: HTMLElement | null) => void) => ReactElement;
}) {
  const body = useRef<HTMLTableSectionElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    if (body.current) setTop(body.current.getBoundingClientRect().top + window.scrollY);
  }, []);
  // Its functions change with each scroll: nothing here may be remembered.
  // oxlint-disable-next-line react/incompatible-library
  const rows = useWindowVirtualizer({
    count,
    estimateSize: () => ROW_HEIGHT,
    overscan: OVERSCAN,
    scrollMargin: top,
  });
  const items = rows.getVirtualItems();
  const before = (items[0]?.start ?? top) - top;
  const after = rows.getTotalSize() - ((items.at(-1)?.end ?? top) - top);
  return (
    <tbody ref={body}>
      <Space height={before} columns={columns} />
      {items.map(({ index }) => row(index, rows.measureElement))}
      <Space height={after} columns={columns} />
    </tbody>
  );
}

function Space({ height, columns }: { height: number; columns: number }) {
  if (height <= 0) return null;
  return (
    <tr aria-hidden>
      {/* oxlint-disable-next-line jsx-a11y/control-has-associated-label -- space, not a control */}
      <td colSpan={columns} style={{ height, padding: 0 }} />
    </tr>
  );
}
