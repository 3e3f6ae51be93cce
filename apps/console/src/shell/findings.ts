import { useQuery } from '@tanstack/react-query';
import { useLocation } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { searchQuery, type SearchResult } from '../api/search.ts';
import { paths } from '../paths.ts';
import { useWords, type Words } from '../words/words.ts';
import { adminItems, userItems } from './nav-items.ts';

export interface Finding {
  to: string;
  label: string;
  kind: string;
}

const PAUSE_MS = 150;

/** Returns what the palette finds: pages at once, things by name or id when typing pauses. */
export function useFindings(text: string, isAdmin: boolean): Finding[] {
  const words = useWords();
  const { shell } = words;
  const wanted = text.trim().toLowerCase();
  const asked = usePaused(text.trim());
  const { data } = useQuery({ ...searchQuery(asked), enabled: asked.length > 1 });
  const pages: Finding[] = [
    ...userItems.map(({ to, label }) => ({ to, label: label(words), kind: shell.pages })),
    ...(isAdmin
      ? adminItems.map(({ to, label }) => ({ to, label: label(words), kind: shell.administration }))
      : []),
  ];
  const matching = pages.filter(({ label }) => label.toLowerCase().includes(wanted));
  const things = wanted.length > 1 ? (data ?? []) : [];
  const { pathname } = useLocation();
  const hats = { isAdmin, isAdminHat: isAdmin && pathname.startsWith(paths.admin()) };
  return [...matching, ...things.flatMap((result) => findingOf(result, hats, words))];
}

function findingOf(
  { kind, id, title, detail }: SearchResult,
  { isAdmin, isAdminHat }: { isAdmin: boolean; isAdminHat: boolean },
  { shell }: Words,
): Finding[] {
  const label = detail === '' ? title : `${title} · ${detail}`;
  const found = (to: string, name: string): Finding[] => [{ to, label, kind: name }];
  switch (kind) {
    case 'user':
      return found(paths.adminUser(Number(id)), shell.users);
    case 'model':
      return found(isAdmin ? paths.adminModel(Number(id)) : paths.model(Number(id)), shell.models);
    case 'key':
      return found((isAdminHat ? paths.adminKey : paths.key)(Number(id)), shell.keys);
    case 'upstream':
      return found(paths.adminUpstream(Number(id)), shell.upstreams);
    case 'node':
      return found(paths.adminNode(title), shell.nodes);
    case 'request':
      return found((isAdminHat ? paths.adminRequest : paths.request)(id), shell.requests);
    default:
      return unreachable(kind);
  }
}

/** A kind that a newer server knows and this page does not is left out. */
function unreachable(_kind: never): Finding[] {
  return [];
}

/** Returns the text once typing has paused. */
function usePaused(text: string): string {
  const [paused, setPaused] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return paused;
}
