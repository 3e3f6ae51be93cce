import { Menu } from '@base-ui/react/menu';
import { Check, CircleUserRound, LogOut } from '../ui/icons.tsx';
import type { Me } from '../api/session.ts';
import { useSignOut } from '../ui/forms/sign-out.ts';
import { MENU_POPUP } from '../ui/menu.tsx';
import { LANGUAGES, useSpeech, useWords, type Language } from '../words/words.ts';
import { chooseTheme, THEMES, useTheme } from '../browser/theme.ts';

const ROW =
  'flex h-8 cursor-default items-center gap-2 rounded-sm px-2 outline-none select-none data-[highlighted]:bg-sunken';
const HEADING = 'px-2 pt-2 pb-1 text-tiny font-medium text-text-3';

/** Shows the account that is signed in, theme, language and the way out. */
export function AccountMenu({ me, isWide = false }: { me: Me; isWide?: boolean }) {
  const { shell } = useWords();
  return (
    <Menu.Root>
      <Menu.Trigger
        aria-label={shell.signedInAs(me.username)}
        className="flex h-9 w-full items-center gap-2.5 rounded-md px-2.5 text-left font-medium hover:bg-sunken"
      >
        <CircleUserRound aria-hidden className="size-4 shrink-0 text-text-3" />
        <span className={`foreign min-w-0 flex-1 truncate ${isWide ? '' : 'max-lg:sr-only'}`}>
          {me.username}
        </span>
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner side="top" align="start" sideOffset={6} className="z-40">
          <Menu.Popup className={`${MENU_POPUP} w-54`}>
            <ThemeGroup />
            <LanguageGroup />
            <Menu.Separator className="my-1 h-px bg-line" />
            <SignOut label={shell.signOut} />
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}

function LanguageGroup() {
  const { words, language, choose } = useSpeech();
  const { shell } = words;
  return (
    <Menu.Group>
      <Menu.GroupLabel className={HEADING}>{shell.language}</Menu.GroupLabel>
      <Menu.RadioGroup value={language} onValueChange={(value: Language) => choose(value)}>
        {Object.entries(LANGUAGES).map(([id, name]) => (
          <Choice key={id} value={id} label={name} />
        ))}
      </Menu.RadioGroup>
    </Menu.Group>
  );
}

function ThemeGroup() {
  const { shell } = useWords();
  const { chosen } = useTheme();
  const themes = {
    system: shell.themeSystem,
    light: shell.themeLight,
    dark: shell.themeDark,
  };
  return (
    <Menu.Group>
      <Menu.GroupLabel className={HEADING}>{shell.theme}</Menu.GroupLabel>
      <Menu.RadioGroup value={chosen} onValueChange={chooseTheme}>
        {THEMES.map((theme) => (
          <Choice key={theme} value={theme} label={themes[theme]} />
        ))}
      </Menu.RadioGroup>
    </Menu.Group>
  );
}

function Choice({ value, label }: { value: string; label: string }) {
  return (
    <Menu.RadioItem value={value} className={ROW}>
      <span className="size-4">
        <Menu.RadioItemIndicator>
          <Check aria-hidden className="size-4" />
        </Menu.RadioItemIndicator>
      </span>
      {label}
    </Menu.RadioItem>
  );
}

function SignOut({ label }: { label: string }) {
  const leave = useSignOut();
  return (
    <Menu.Item className={ROW} onClick={leave}>
      <LogOut aria-hidden className="size-4 text-text-3" />
      {label}
    </Menu.Item>
  );
}
