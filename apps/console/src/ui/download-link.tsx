import type { ReactNode } from 'react';

/** A file of the interface, fetched by the browser with the session's cookie. */
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
