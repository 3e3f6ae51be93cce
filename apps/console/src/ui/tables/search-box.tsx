import { Search } from '../icons.tsx';
import { useEffect, useRef, useState } from 'react';

/** Gathers what one burst of keys sends. Between two keys even a quick hand takes four times as long. */
const PAUSE_MS = 20;

interface SearchBoxProps {
  label: string;
  value: string;
  onSearch: (text: string) => void;
}

/** Searches when typing pauses. The address is the truth: what it says, the box shows. */
export function SearchBox({ label, value, onSearch }: SearchBoxProps) {
  const [text, setText] = useState(value);
  const asked = useRef(value);
  useEffect(() => {
    // The box's own search returns by the address, perhaps after the user has typed more.
    if (value === asked.current) return;
    asked.current = value;
    setText(value);
  }, [value]);
  useEffect(() => {
    if (text === value) return undefined;
    const timer = setTimeout(() => {
      asked.current = text;
      onSearch(text);
    }, PAUSE_MS);
    return () => clearTimeout(timer);
    // A new function in each render must not restart the pause.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [text, value]);
  return (
    <div className="relative w-60 max-sm:w-full">
      <Search
        aria-hidden
        className="pointer-events-none absolute top-2 left-2.5 size-4 text-text-3"
      />
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        value={text}
        onChange={(event) => setText(event.target.value)}
        className="h-8 w-full rounded-md border border-line-strong bg-surface pr-2.5 pl-8 text-text placeholder:text-text-3 hover:border-text-3"
      />
    </div>
  );
}
