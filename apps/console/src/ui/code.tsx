import { CopyButton } from './copy.tsx';

/** Shows text to paste into a shell or a file. */
export function CodeBlock({ code, label }: { code: string; label: string }) {
  return (
    <div className="flex items-start rounded-md border border-line bg-sunken">
      <pre
        // A region that scrolls must be reachable by keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        aria-label={label}
        role="region"
        className="min-w-0 flex-1 overflow-x-auto py-3 pl-3 text-code whitespace-pre"
      >
        {code}
      </pre>
      <div className="shrink-0 p-1.5">
        <CopyButton text={code} label={label} />
      </div>
    </div>
  );
}
