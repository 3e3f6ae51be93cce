import type { ReactNode } from 'react';

/** Links to a file of the interface, which the browser fetches with the session's cookie. */
export function DownloadLink({
  href,
  icon,
  children,
}: {
  href: string;
  icon: ReactNode;
  children: ReactNode;
}) {
  return (
    <a
      href={href}
      download
      className="inline-flex h-8 items-center gap-1.5 rounded-md border border-line-strong bg-surface px-3 font-medium whitespace-nowrap hover:bg-sunken"
    >
      {icon}
      {children}
    </a>
  );
}
