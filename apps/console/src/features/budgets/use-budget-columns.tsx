import { useQuery } from '@tanstack/react-query';
import { useLocation } from '@tanstack/react-router';
import type { Budget, BudgetUsage } from '../../api/limits/budgets.ts';
import { keysQuery } from '../../api/keys.ts';
import { paths } from '../../paths.ts';
import { Button, TextLink } from '../../ui/forms/button.tsx';
import { Ellipsis } from '../../ui/icons.tsx';
import { Menu } from '../../ui/menu.tsx';
import type { Column } from '../../ui/tables/table.tsx';
import { Ago } from '../../ui/time/time.tsx';
import { formatCount } from '../../ui/format.ts';
import { useSpeech, useWords } from '../../words/words.ts';
import { BudgetFill } from './budget-fill.tsx';
import { useAmounts, type AmountText } from './use-amounts.ts';

/** Names what is done with one budget. */
export type BudgetAct = 'edit' | 'grant' | 'reset' | 'history' | 'delete';

type OnAct = (act: { kind: BudgetAct; of: Budget }) => void;
type Usage = ReadonlyMap<number, BudgetUsage> | undefined;
interface BudgetColumnsOf {
  userId: number;
  isOfKey: boolean;
  isAdmin: boolean;
  usage: Usage;
}

export function useBudgetColumns(
  { userId, isOfKey, isAdmin, usage }: BudgetColumnsOf,
  onAct: OnAct,
): Column<Budget>[] {
  const { budgets } = useWords();
  const { write } = useAmounts(userId);
  return [
    ...useColumnsOfUse(usage, write),
    ...(isOfKey
      ? []
      : [
          {
            id: 'scope',
            header: budgets.scope,
            from: 'sm' as const,
            cell: (budget: Budget) => <BudgetScope of={budget} />,
          },
        ]),
    ...useColumnsOfSettings(),
    {
      id: 'acts',
      header: '',
      align: 'right',
      cell: (budget) => <BudgetMenu of={budget} isAdmin={isAdmin} onAct={onAct} />,
    },
  ];
}

function useColumnsOfUse(usage: Usage, write: AmountText): Column<Budget>[] {
  const { budgets } = useWords();
  return [
    {
      id: 'used',
      header: budgets.used,
      cell: (budget) => <BudgetFill of={budget} usage={usage?.get(budget.id)} write={write} />,
    },
    {
      id: 'period',
      header: budgets.period,
      cell: (budget) => <BudgetPeriod of={budget} usage={usage?.get(budget.id)} />,
    },
  ];
}

function useColumnsOfSettings(): Column<Budget>[] {
  const { budgets } = useWords();
  return [
    {
      id: 'each',
      header: budgets.each,
      from: 'sm',
      cell: ({ of, each }) => budgets.counts[of === 'purchases' ? of : (each ?? 'all')],
    },
    {
      id: 'models',
      header: budgets.models,
      from: 'md',
      cell: ({ models }) =>
        models === '' ? (
          budgets.allModels
        ) : (
          <code className="foreign line-clamp-2 max-w-64">{models.replaceAll(',', ', ')}</code>
        ),
    },
    {
      id: 'action',
      header: budgets.action,
      from: 'md',
      cell: ({ action }) => budgets.actions[action].name,
    },
  ];
}

function BudgetPeriod({ of: budget, usage }: { of: Budget; usage: BudgetUsage | undefined }) {
  const { words, locale } = useSpeech();
  const { budgets } = words;
  const resetsAt = usage?.resets_at ?? null;
  return (
    <div className="flex flex-col">
      <span>
        {budget.window_minutes === null
          ? budgets.periods[budget.period]
          : budgets.rolling(formatCount(budget.window_minutes, locale))}
      </span>
      {resetsAt !== null && (
        <span className="text-tiny text-text-3" title={budget.time_zone}>
          {budgets.resets} <Ago at={resetsAt} />
        </span>
      )}
    </div>
  );
}

/** Names the key of a budget, or says that all keys of the account share it. */
function BudgetScope({ of: { key_id: keyId, user_id: userId } }: { of: Budget }) {
  const { budgets } = useWords();
  const isAdmin = useLocation().pathname.startsWith(paths.admin());
  const { data: keys } = useQuery({ ...keysQuery({ user_id: userId }), enabled: keyId !== null });
  if (keyId === null) return budgets.ofAccount;
  const name = keys?.data.find(({ id }) => id === keyId)?.name ?? budgets.ofKey(keyId);
  return (
    <TextLink to={isAdmin ? paths.adminKey(keyId) : paths.key(keyId)} className="foreign">
      {name}
    </TextLink>
  );
}

function BudgetMenu({
  of: budget,
  isAdmin,
  onAct,
}: { of: Budget; onAct: OnAct } & Pick<BudgetColumnsOf, 'isAdmin'>) {
  const { budgets, general } = useWords();
  const mayChange = isAdmin || !budget.is_of_administrator;
  const acts: readonly BudgetAct[] = mayChange
    ? ['edit', 'grant', 'reset', 'history', 'delete']
    : ['history'];
  return (
    <Menu
      trigger={
        <Button
          size="small"
          aria-label={general.more}
          icon={<Ellipsis aria-hidden className="size-4" />}
        />
      }
      acts={acts.map((act) => ({
        label: budgets.acts[act],
        isDanger: act === 'delete',
        onAct: () => onAct({ kind: act, of: budget }),
      }))}
    />
  );
}
