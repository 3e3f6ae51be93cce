import type { ReactNode } from 'react';
import { Logo } from '../../ui/logo.tsx';
import { useTitle } from '../../ui/use-title.ts';
import { useWords } from '../../words/words.ts';

/** Frames the pages that are shown before there is an account. */
export function AccessFrame({
  title,
  purpose,
  children,
}: {
  title: string;
  purpose: ReactNode;
  children: ReactNode;
}) {
  const { general } = useWords();
  useTitle(title);
  return (
    <main className="mx-auto flex min-h-dvh w-full max-w-[400px] flex-col justify-center gap-5 px-4 py-10">
      <div className="flex items-center gap-2.5">
        <Logo />
        <span className="text-lead font-semibold tracking-tight">{general.product}</span>
      </div>
      <div className="rounded-lg border border-line bg-surface p-6">
        <h1 className="text-title font-semibold">{title}</h1>
        <p className="foreign mt-1 mb-5 text-text-2">{purpose}</p>
        {children}
      </div>
    </main>
  );
}
