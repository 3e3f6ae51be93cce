import { ButtonLink } from '../forms/button.tsx';

/** Shows what comes next, and the way there; without one where another person does it. */
export function NextBar({ text, way }: { text: string; way?: { label: string; to: string } }) {
  return (
    <section className="flex flex-wrap items-center gap-3 rounded-md border border-line bg-accent-soft px-4 py-2.5">
      <p className="min-w-0 flex-1 font-medium">{text}</p>
      {way && (
        <ButtonLink to={way.to} look="primary" size="small">
          {way.label}
        </ButtonLink>
      )}
    </section>
  );
}
