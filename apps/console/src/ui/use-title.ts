import { useEffect } from 'react';
import { useWords } from '../words/words.ts';

/** The browser's tab shows the title of the page and the product. */
export function useTitle(title: string): void {
  const { general } = useWords();
  useEffect(() => {
    document.title = `${title} · ${general.product}`;
  }, [title, general.product]);
}
