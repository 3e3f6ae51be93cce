import { Link } from '@tanstack/react-router';
import { LoaderCircle } from '../icons.tsx';
import type { ComponentProps, ReactNode } from 'react';
import { Tooltip } from '../tooltip.tsx';

export type ButtonLook = 'primary' | 'secondary' | 'quiet' | 'danger';

const BASE =
  'inline-flex shrink-0 items-center justify-center gap-1.5 rounded-md border font-medium whitespace-nowrap select-none transition-colors duration-100 aria-disabled:cursor-not-allowed aria-disabled:opacity-55';
const SIZES = { medium: 'h-8 px-3 text-body', small: 'h-7 px-2 text-table' } as const;
const LOOKS: Readonly<Record<ButtonLook, string>> = {
  primary: 'border-transparent bg-accent text-on-accent not-aria-disabled:hover:bg-accent-strong',
  secondary: 'border-line-strong bg-surface text-text not-aria-disabled:hover:bg-sunken',
  quiet:
    'border-transparent text-text-2 not-aria-disabled:hover:bg-sunken not-aria-disabled:hover:text-text',
  danger: 'border-line-strong bg-surface text-bad not-aria-disabled:hover:bg-bad-soft',
};

interface Appearance {
  look?: ButtonLook;
  size?: keyof typeof SIZES;
  icon?: ReactNode;
}

export interface ButtonProps extends Appearance, Omit<ComponentProps<'button'>, 'disabled'> {
  /** Something runs that this button has started. */
  isBusy?: boolean;
  /** Says why the button cannot be pressed now. A button is never disabled without a reason. */
  blockedBy?: string | undefined;
}

/** A tooltip costs as much as all else of a row, so a button that is never blocked has none. */
export function Button(props: ButtonProps) {
  const { blockedBy, ...bare } = props;
  // The tooltip is there whether the button is blocked now or not: a button that React replaces when it can be pressed loses the focus.
  if (!('blockedBy' in props)) return <BareButton {...bare} />;
  return (
    <Tooltip text={blockedBy}>
      <BareButton {...bare} isBlocked={blockedBy !== undefined} />
    </Tooltip>
  );
}

function BareButton({
  look = 'secondary',
  size = 'medium',
  icon,
  isBusy = false,
  isBlocked = false,
  className = '',
  children,
  onClick,
  ...rest
}: Omit<ButtonProps, 'blockedBy'> & { isBlocked?: boolean }) {
  const isOff = isBusy || isBlocked;
  return (
    <button
      type="button"
      {...rest}
      aria-disabled={isOff || undefined}
      onClick={isOff ? (event) => event.preventDefault() : onClick}
      className={`${BASE} ${SIZES[size]} ${LOOKS[look]} ${className}`}
    >
      {isBusy ? <LoaderCircle aria-hidden className="size-4 animate-spin" /> : icon}
      {children}
    </button>
  );
}

/** Is a button of one icon; its name is shown when it is pointed at. */
export function IconButton({
  label,
  className = '',
  children,
  ...rest
}: { label: string } & ComponentProps<'button'>) {
  return (
    <Tooltip text={label}>
      <button
        type="button"
        {...rest}
        aria-label={label}
        className={`inline-flex size-7 shrink-0 items-center justify-center rounded-md text-text-3 transition-colors duration-100 hover:bg-sunken hover:text-text disabled:opacity-40 ${className}`}
      >
        {children}
      </button>
    </Tooltip>
  );
}

/** Is a link that looks like a button, for what leads to another page. */
export function ButtonLink({
  to,
  look = 'secondary',
  size = 'medium',
  icon,
  children,
}: Appearance & { to: string; children: ReactNode }) {
  return (
    <Link to={to} className={`${BASE} ${SIZES[size]} ${LOOKS[look]}`}>
      {icon}
      {children}
    </Link>
  );
}

export function TextLink({
  to,
  className = '',
  children,
}: {
  to: string;
  className?: string;
  children: ReactNode;
}) {
  return (
    <Link
      to={to}
      className={`rounded-sm font-medium text-accent underline-offset-2 hover:underline ${className}`}
    >
      {children}
    </Link>
  );
}
