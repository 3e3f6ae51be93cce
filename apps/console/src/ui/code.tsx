import { CopyButton } from './copy.tsx';

/** Something to paste into a shell or a file. */
export function CodeBlock({ code, label }: { code: string; label: string }) {
  return (
    <div className="relative rounded-md border border-line bg-sunken">
      <pre
        // A region that scrolls must be reachable by keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        aria-label={label}
        role="region"
        className="overflow-x-auto p-3 pr-10 text-code whitespace-pre"
      >
        {code}
      </pre>
      <div className="absolute top-1.5 right-1.5">
        <CopyButton text={code} label={label} />
      </div>
    </div>
  );
}
