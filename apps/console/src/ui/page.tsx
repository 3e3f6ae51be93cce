import { ChevronRight } from './icons.tsx';
import type { ReactNode } from 'react';
import { TextLink } from './forms/button.tsx';
import { useTitle } from './use-title.ts';

/** Every page begins like this: where it is, its title, one line of purpose, at most two actions, and below them what narrows it down. */
export function Page({
  title,
  purpose,
  parent,
  actions,
  bar,
  children,
}: {
  title: string;
  purpose?: ReactNode;
  parent?: { to: string; label: string };
  actions?: ReactNode;
  /** Holds time range and filters. */
  bar?: ReactNode;
  children: ReactNode;
}) {
  useTitle(title);
  return (
    <div className="mx-auto flex w-full max-w-[1280px] flex-col gap-5 px-4 pt-5 pb-16 sm:px-6 lg:px-8">
      <header className="flex flex-wrap items-start gap-x-4 gap-y-3">
        <div className="min-w-0 flex-1 basis-72">
          {parent && (
            <nav className="mb-1 flex items-center gap-1 text-table text-text-3">
              <TextLink to={parent.to}>{parent.label}</TextLink>
              <ChevronRight aria-hidden className="size-3.5" />
            </nav>
          )}
          <h1 className="foreign text-title font-semibold">{title}</h1>
          {purpose !== undefined && <p className="mt-0.5 max-w-prose text-text-2">{purpose}</p>}
        </div>
        {actions !== undefined && <div className="flex flex-wrap gap-2">{actions}</div>}
      </header>
      {bar !== undefined && <div className="flex flex-wrap items-center gap-2">{bar}</div>}
      {children}
    </div>
  );
}

/** Frames a part of a page. */
export function Panel({
  title,
  note,
  actions,
  isFlush = false,
  children,
}: {
  title?: string;
  note?: ReactNode;
  actions?: ReactNode;
  /** Is true when the content brings its own padding, e.g. a table. */
  isFlush?: boolean;
  children: ReactNode;
}) {
  return (
    <section className="min-w-0 rounded-md border border-line bg-surface">
      {title !== undefined && (
        <header
          className={`flex flex-wrap items-center gap-x-3 gap-y-1 px-4 pt-3 ${isFlush ? 'pb-2.5' : ''}`}
        >
          <h2 className="foreign min-w-[min(6rem,100%)] flex-1 font-semibold">{title}</h2>
          {note !== undefined && <span className="text-table text-text-3">{note}</span>}
          {/* They move to the next line together. */}
          {actions && (
            <div className="flex max-w-full min-w-0 flex-wrap items-center gap-2">{actions}</div>
          )}
        </header>
      )}
      <div className={isFlush ? '' : 'px-4 pt-3 pb-4'}>{children}</div>
    </section>
  );
}

/** Lists facts by name, such as the strip below the title of a detail page. */
export function Facts({
  facts,
}: {
  /** Sets `isWide` for what does not fit beside the others, such as an address. */
  facts: readonly { name: string; value: ReactNode; isWide?: boolean }[];
}) {
  return (
    <dl className="grid grid-cols-[repeat(auto-fill,minmax(150px,1fr))] gap-x-6 gap-y-3">
      {facts.map(({ name, value, isWide = false }) => (
        <div key={name} className={`min-w-0 ${isWide ? 'max-sm:col-span-full sm:col-span-2' : ''}`}>
          <dt className="text-table text-text-3">{name}</dt>
          <dd className="foreign mt-0.5">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
