import { useEffect, useMemo, useState, type ReactNode } from 'react';
import { remember } from '../browser/preferences.ts';
import { loadWords, localeOf, SpeechContext, type Language, type Words } from './words.ts';

/** Loads one catalogue at a time; what was said before stays until the next is there. */
export function SpeechProvider({
  first,
  children,
}: {
  first: { language: Language; words: Words };
  children: ReactNode;
}) {
  const [{ language, words }, setSpoken] = useState(first);
  useEffect(() => {
    document.documentElement.lang = language === 'zh' ? 'zh-CN' : 'en';
  }, [language]);
  const speech = useMemo(
    () => ({
      words,
      language,
      locale: localeOf(language, navigator.languages),
      choose: (next: Language) => {
        remember('language', next);
        void loadWords(next).then((loaded) => setSpoken({ language: next, words: loaded }));
      },
    }),
    [words, language],
  );
  return <SpeechContext value={speech}>{children}</SpeechContext>;
}
