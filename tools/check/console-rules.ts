/** Checks house rules of apps/console that no linter knows. It is pure: it takes a file's path and text and returns the violations. */
export interface Source {
  /** Is the path below apps/console/src. */
  path: string;
  text: string;
}

interface Rule {
  name: string;
  /** Files that match may violate the rule. */
  except: RegExp;
  /** Each match is one violation; comments never match. */
  pattern: RegExp;
}

const RULES: readonly Rule[] = [
  {
    name: 'no request outside api/',
    except: /^api\//,
    pattern: /\b(?:fetch|XMLHttpRequest|EventSource|WebSocket|sendBeacon)\s*\(/g,
  },
  {
    name: 'no address outside paths.ts',
    except: /^(paths|routes)\.ts$|^api\//,
    pattern: /\b(?:to|href|next)\s*[=:]\s*\{?\s*["'`]\/(?!["'`]?\s*\))/g,
  },
  {
    name: 'no colour outside tokens.css',
    except: /^tokens\.css$/,
    pattern:
      /#(?:[0-9a-f]{8}|[0-9a-f]{6}|[0-9a-f]{3,4})\b|\b(?:rgba?|hsla?|oklch|oklab|lab|lch|hwb|color)\(/gi,
  },
  {
    name: 'no words outside the catalogue',
    except: /^words\//,
    // Matches text between tags, and the attributes that people read or hear.
    pattern:
      />[^<>{}=;()]*\p{L}{2}[^<>{}=;()]*<\/|\b(?:aria-label|placeholder|title|alt|label)="[^"]*\p{L}{2}[^"]*"/gu,
  },
  {
    name: 'no style in markup',
    except: /^$/,
    pattern: /\bdangerouslySetInnerHTML\b|\.innerHTML\s*=|<style[\s>]/g,
  },
];

/** Matches words that are the same in every language. */
const NAMES =
  /^(?:>\s*)?(?:Tollgate|Ctrl K|UTC|curl|OpenAI|Anthropic|JSON|CSV|API|Python|Node\.js)(?:\s*<\/)?$/;

export function judge({ path, text }: Source): string[] {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\/|(?<![:"'`\w])\/\/.*$/gm, '');
  return RULES.filter(({ except }) => !except.test(path)).flatMap(({ name, pattern }) =>
    [...code.matchAll(pattern)]
      .map(([match]) => match.trim())
      .filter((match) => !NAMES.test(match))
      .map((match) => `${path}: ${name}: ${match}`),
  );
}

export const RULE_NAMES = RULES.map(({ name }) => name);

/** Matches texts that both languages rightly share: names and figures. */
const SHARED =
  /^(Tollgate|UTC|CSV|API|OpenAI( SDK)?|Anthropic( SDK)?|Claude Code|Codex|JSON|tokens|English|中文|[\W\d_]*)$/;

/** Lists the places where a catalogue lacks an entry of the English one, has one more, or has an empty or identical text. */
export function untranslated(english: object, other: object, place = ''): string[] {
  const tooMany = Object.keys(other)
    .filter((name) => !Object.hasOwn(english, name))
    .map((name) => `${place}${name}`);
  const missing = Object.entries(english).flatMap(([name, text]: [string, unknown]) => {
    const said: unknown = Reflect.get(other, name);
    if (typeof text === 'object' && text !== null)
      return untranslated(text, Object(said), `${place}${name}.`);
    const isSaid =
      typeof said === typeof text && said !== '' && !(said === text && !isShared(String(text)));
    return isSaid ? [] : [`${place}${name}`];
  });
  return [...missing, ...tooMany];
}

function isShared(text: string): boolean {
  return SHARED.test(text) || /^[\w.-]+$/.test(text);
}
