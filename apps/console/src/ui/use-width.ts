import { useCallback, useState, type RefCallback } from 'react';

/** Returns the width in pixels of the element that the ref is on, 0 until it exists. Elements that are drawn at their real size use it. */
export function useWidth(): [RefCallback<HTMLElement>, number] {
  const [width, setWidth] = useState(0);
  const ref = useCallback((element: HTMLElement) => {
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}
