import type { Alert } from '../../api/admin.ts';
import { formatCount } from '../../ui/format.ts';
import type { AlertSentences } from '../../words/alert-sentences.ts';

type SaidAlert = Pick<Alert, 'rule' | 'subject' | 'subject_name' | 'message' | 'detail'>;

/**
 * Returns the text of an alert: the catalogue's sentence of its rule with the alert's figures. The server's own sentence is used if the catalogue
 * has none, or where a figure is missing because the alert is of an earlier release.
 */
export function alertSentence(
  alert: SaidAlert,
  { sentences, locale }: { sentences: AlertSentences; locale: string },
): string {
  const { rule, detail, message } = alert;
  const template = sentences['kind' in detail ? `${rule}.${String(detail.kind)}` : rule];
  if (template === undefined) return message;
  const known = { ...detail, subject: alert.subject_name ?? alert.subject };
  const values = new Map(Object.entries(known).map(([name, value]) => [name, said(value, locale)]));
  const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  return names.every((name) => values.get(name) !== undefined)
    ? template.replaceAll(/\{(\w+)\}/g, (_, name: string) => values.get(name) ?? '')
    : message;
}

const LISTED_MAX = 10;

function said(value: unknown, locale: string): string | undefined {
  if (typeof value === 'number') return formatCount(value, locale);
  if (Array.isArray(value)) return value.slice(0, LISTED_MAX).map(String).join(', ');
  if (typeof value !== 'string') return undefined;
  return /^\d{1,15}$/.test(value) ? formatCount(Number(value), locale) : value;
}
