/** Draws a gate over a road. */
export function Logo() {
  return (
    <svg aria-hidden viewBox="0 0 32 32" className="size-6 shrink-0 text-accent">
      <rect width="32" height="32" rx="7" className="fill-current" />
      <path
        d="M8 11h16M11 11v13M21 11v13M11 17.5h10"
        strokeWidth="3"
        strokeLinecap="round"
        className="fill-none stroke-on-accent"
      />
    </svg>
  );
}
