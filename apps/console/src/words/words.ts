import { createContext, use } from 'react';
import type { en } from './en.ts';

/** Has every word the console says. A catalogue of another language has exactly the entries of the English one: the compiler compares them. */
export type Words = typeof en;

export const LANGUAGES = { en: 'English', zh: '中文' } as const;
export type Language = keyof typeof LANGUAGES;

export interface Speech {
  words: Words;
  language: Language;
  /** Serves `Intl`: it is the browser's own variant of the language where there is one. */
  locale: string;
  choose: (language: Language) => void;
}

export const SpeechContext = createContext<Speech | undefined>(undefined);

export function useSpeech(): Speech {
  const speech = use(SpeechContext);
  if (!speech) throw new Error('there is no language around this component');
  return speech;
}

/** Returns the words: `const w = useWords(); w.keys.title`. */
export function useWords(): Words {
  return useSpeech().words;
}

export async function loadWords(language: Language): Promise<Words> {
  switch (language) {
    case 'en':
      return (await import('./en.ts')).en;
    case 'zh':
      return (await import('./zh.ts')).zh;
  }
}

/** Returns the chosen language, else the browser's, else English. */
export function firstLanguage(chosen: string | null, wanted: readonly string[]): Language {
  for (const tag of [chosen ?? '', ...wanted]) {
    const language = tag.toLowerCase().split('-', 1)[0];
    if (language === 'en' || language === 'zh') return language;
  }
  return 'en';
}

export function localeOf(language: Language, wanted: readonly string[]): string {
  return (
    wanted.find((tag) => tag.toLowerCase().startsWith(language)) ??
    (language === 'zh' ? 'zh-CN' : 'en')
  );
}
