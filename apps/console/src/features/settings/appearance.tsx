import { useState, type ReactNode } from 'react';
import { recall, remember } from '../../browser/preferences.ts';
import { chooseTheme, THEMES, useTheme } from '../../browser/theme.ts';
import { Segments } from '../../ui/tables/segments.tsx';
import { useZone, type Zone } from '../../ui/time/zone.tsx';
import { LANGUAGES, useSpeech, useWords, type Language } from '../../words/words.ts';

/** Shows what this browser remembers: theme, language, time zone and row height. */
export function Appearance() {
  return (
    <div className="grid grid-cols-[repeat(auto-fill,minmax(min(260px,100%),1fr))] gap-5">
      <ThemeRow />
      <LanguageRow />
      <ZoneRow />
      <RowHeightRow />
    </div>
  );
}

function RowHeightRow() {
  const { shell } = useWords();
  const [rows, setRows] = useState(recall('rows') ?? 'comfortable');
  return (
    <Row name={shell.rows}>
      <Segments
        label={shell.rows}
        value={rows}
        onChange={(value) => {
          remember('rows', value);
          setRows(value);
        }}
        options={[
          { value: 'comfortable', label: shell.rowsComfortable },
          { value: 'compact', label: shell.rowsCompact },
        ]}
      />
    </Row>
  );
}

function ZoneRow() {
  const { shell } = useWords();
  const { zone, choose } = useZone();
  return (
    <Row name={shell.zone}>
      <Segments<Zone>
        label={shell.zone}
        value={zone}
        onChange={choose}
        options={[
          { value: 'local', label: shell.zoneLocal },
          { value: 'utc', label: shell.zoneUtc },
        ]}
      />
    </Row>
  );
}

function LanguageRow() {
  const { words, language, choose } = useSpeech();
  const { shell } = words;
  return (
    <Row name={shell.language}>
      <Segments<Language>
        label={shell.language}
        value={language}
        onChange={choose}
        options={[
          { value: 'en', label: LANGUAGES.en },
          { value: 'zh', label: LANGUAGES.zh },
        ]}
      />
    </Row>
  );
}

function ThemeRow() {
  const { shell } = useWords();
  const { chosen } = useTheme();
  const themes = { system: shell.themeSystem, light: shell.themeLight, dark: shell.themeDark };
  return (
    <Row name={shell.theme}>
      <Segments
        label={shell.theme}
        value={chosen}
        onChange={chooseTheme}
        options={THEMES.map((theme) => ({ value: theme, label: themes[theme] }))}
      />
    </Row>
  );
}

function Row({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex flex-col items-start gap-1.5">
      <p className="text-table text-text-2">{name}</p>
      {children}
    </div>
  );
}
