import { paths } from '../paths.ts';
import { useWords } from '../words/words.ts';
import { adminItems, userItems } from './nav-items.ts';

export interface Finding {
  to: string;
  label: string;
  kind: string;
}

const REQUEST_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** What the palette finds: pages at once. */
export function useFindings(text: string, isAdmin: boolean): Finding[] {
  const words = useWords();
  const { shell } = words;
  const wanted = text.trim().toLowerCase();
  const pages: Finding[] = [
    ...userItems.map(({ to, label }) => ({ to, label: label(words), kind: shell.pages })),
    ...(isAdmin
      ? adminItems.map(({ to, label }) => ({ to, label: label(words), kind: shell.administration }))
      : []),
  ];
  const matching = pages.filter(({ label }) => label.toLowerCase().includes(wanted));
  if (!REQUEST_ID.test(wanted)) return matching;
  return [
    { to: paths.request(wanted), label: shell.openRequest(wanted), kind: shell.requests },
    ...matching,
  ];
}
