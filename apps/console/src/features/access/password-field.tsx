import { Eye, EyeOff } from '../../ui/icons.tsx';
import { useState } from 'react';
import { IconButton } from '../../ui/forms/button.tsx';
import { TextField } from '../../ui/forms/field.tsx';
import { useWords } from '../../words/words.ts';

/** Draws a field for a password that its owner may look at while typing. */
export function PasswordField({
  name,
  label,
  help,
  isNew = false,
}: {
  name: string;
  label: string;
  help?: string;
  isNew?: boolean;
}) {
  const { access } = useWords();
  const [isShown, setShown] = useState(false);
  return (
    <div className="relative">
      <TextField
        name={name}
        label={label}
        {...(help !== undefined && { help })}
        type={isShown ? 'text' : 'password'}
        autoComplete={isNew ? 'new-password' : 'current-password'}
        required
        className="pr-9"
      />
      <span className="absolute top-[26px] right-0.5">
        <IconButton label={isShown ? access.hide : access.show} onClick={() => setShown(!isShown)}>
          {isShown ? (
            <EyeOff aria-hidden className="size-4" />
          ) : (
            <Eye aria-hidden className="size-4" />
          )}
        </IconButton>
      </span>
    </div>
  );
}
