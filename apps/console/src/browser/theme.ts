import { useSyncExternalStore } from 'react';
import { onChangedElsewhere, recall, remember } from './preferences.ts';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const system = window.matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();

function chosenTheme(): Theme {
  return THEMES.find((theme) => theme === recall('theme')) ?? 'system';
}

/** Returns what is on screen; charts draw with its colours. */
function shownTheme(): 'light' | 'dark' {
  return document.documentElement.dataset.theme === 'dark' ? 'dark' : 'light';
}

function apply(): void {
  const theme = chosenTheme();
  const isDark = theme === 'dark' || (theme === 'system' && system.matches);
  document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
  for (const listener of listeners) listener();
}

system.addEventListener('change', apply);
onChangedElsewhere('theme', apply);

export function chooseTheme(theme: Theme): void {
  remember('theme', theme);
  apply();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useTheme(): { chosen: Theme; shown: 'light' | 'dark' } {
  const shown = useSyncExternalStore(subscribe, shownTheme);
  const chosen = useSyncExternalStore(subscribe, chosenTheme);
  return { chosen, shown };
}
