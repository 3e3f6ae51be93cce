import { useEffect, useRef, useState, type ReactNode } from 'react';

/** Holds content that may be wider than its place. While it is, it can be reached and scrolled by keyboard. */
export function ScrollBox({ label, children }: { label: string; children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null);
  const [isWide, setWide] = useState(false);
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => setWide(element.scrollWidth > element.clientWidth));
    observer.observe(element);
    for (const child of element.children) observer.observe(child);
    return () => observer.disconnect();
  }, []);
  return (
    <div
      ref={box}
      {...(isWide && { tabIndex: 0, role: 'region', 'aria-label': label })}
      // Content that is positioned inside, as words for screen readers are, scrolls with it and does not widen the page.
      className="relative overflow-x-auto -outline-offset-2"
    >
      {children}
    </div>
  );
}
