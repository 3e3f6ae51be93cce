import { useState } from 'react';
import {
  BUDGET_ACTIONS,
  BUDGET_PERIODS,
  BUDGET_SCOPES,
  BUDGET_UNITS,
  PURCHASE_ACTIONS,
  scopeOf,
  type Budget,
  type BudgetScope,
  type CreateBudget,
  type UpdateBudget,
} from '../../api/limits/budgets.ts';
import { CheckField, SelectField, TextField } from '../../ui/forms/field.tsx';
import type { FormValues } from '../../ui/forms/form.tsx';
import { useWords, type Words } from '../../words/words.ts';

type Unit = Budget['unit'];

/** Draws what the budget counts. What auto-recharge buys is of an account. */
export function ScopeFields({
  scope,
  isOfKey,
  onScope,
}: {
  scope: BudgetScope;
  isOfKey: boolean;
  onScope: (scope: BudgetScope) => void;
}) {
  const { budgets } = useWords();
  const scopes = BUDGET_SCOPES.filter((value) => value !== 'purchases' || !isOfKey);
  return (
    <>
      <SelectField
        name="scope"
        label={budgets.each}
        help={budgets.scopes[scope].says}
        value={scope}
        onChange={({ currentTarget }) => onScope(oneOf(BUDGET_SCOPES, currentTarget.value))}
        options={scopes.map((value) => ({ value, label: budgets.scopes[value].name }))}
      />
      {(scope === 'sessions' || scope === 'end_users') && (
        <CheckField name="require" label={budgets.require} />
      )}
    </>
  );
}

/** Draws the choice of the unit in which the budget counts requests. */
export function UnitField({ unit, onUnit }: { unit: Unit; onUnit: (unit: Unit) => void }) {
  const { budgets } = useWords();
  return (
    <SelectField
      name="unit"
      label={budgets.unit}
      help={budgets.units[unit].says}
      value={unit}
      onChange={({ currentTarget }) => onUnit(oneOf(BUDGET_UNITS, currentTarget.value))}
      options={BUDGET_UNITS.map((value) => ({ value, label: budgets.units[value].name }))}
    />
  );
}

/** Draws the choice of the periods in which the budget counts. */
export function PeriodFields() {
  const { budgets } = useWords();
  const [period, setPeriod] = useState<Budget['period']>('month');
  return (
    <>
      <SelectField
        name="period"
        label={budgets.period}
        help={budgets.periodHelp}
        value={period}
        onChange={({ currentTarget }) => setPeriod(oneOf(BUDGET_PERIODS, currentTarget.value))}
        options={BUDGET_PERIODS.map((value) => ({ value, label: budgets.periods[value] }))}
      />
      <ClockField period={period} />
    </>
  );
}

/** Draws how long a rolling window is, or by which clocks other periods begin. Their keys keep the text of one out of the other. */
function ClockField({ period }: { period: Budget['period'] }) {
  const { budgets } = useWords();
  if (period === 'none') return null;
  if (period === 'rolling')
    return (
      <TextField
        key="window_minutes"
        name="window_minutes"
        label={budgets.window}
        help={budgets.windowHelp}
        defaultValue="300"
        inputMode="numeric"
        pattern="[0-9]+"
        required
        autoComplete="off"
      />
    );
  return (
    <TextField
      key="time_zone"
      name="time_zone"
      label={budgets.timeZone}
      help={budgets.timeZoneHelp}
      defaultValue={new Intl.DateTimeFormat().resolvedOptions().timeZone}
      required
      maxLength={64}
      autoComplete="off"
    />
  );
}

/** Draws the settings of a budget, for a new one and for one that is. */
export function BudgetFields({
  of: budget,
  counts,
  unit,
  currency,
}: {
  of?: Budget;
  counts: Budget['of'];
  unit: Unit;
  currency: string;
}) {
  const { budgets } = useWords();
  return (
    <>
      <AmountField of={budget} unit={unit} currency={currency} />
      <TextField
        name="models"
        label={budgets.models}
        help={budgets.modelsHelp}
        defaultValue={budget?.models}
        maxLength={1000}
        autoComplete="off"
      />
      <SelectField
        name="action"
        label={budgets.action}
        defaultValue={budget?.action}
        options={actionsOf(counts, budgets)}
      />
      <TextField
        name="notify_at"
        label={budgets.notifyAt}
        help={budgets.notifyAtHelp}
        defaultValue={(budget?.notify_at ?? [80, 100]).join(', ')}
        pattern="[0-9, ]*"
        autoComplete="off"
      />
    </>
  );
}

function actionsOf(counts: Budget['of'], words: Words['budgets']) {
  return counts === 'usage'
    ? BUDGET_ACTIONS.map((value) => ({ value, label: words.actions[value].says }))
    : PURCHASE_ACTIONS.map((value) => ({ value, label: words.actionsOfPurchases[value] }));
}

/** Draws an amount in the unit of the budget. */
export function AmountField({
  of: budget,
  unit,
  currency,
}: {
  of?: Budget | undefined;
  unit: Unit;
  currency: string;
}) {
  const { budgets } = useWords();
  return (
    <TextField
      name="amount"
      label={budgets.amount}
      unit={unit === 'money' ? currency : budgets.units[unit].short}
      defaultValue={budget?.amount}
      inputMode="decimal"
      required
      autoComplete="off"
    />
  );
}

/** Returns the settings that the fields say. */
export function settingsOf(values: FormValues): UpdateBudget {
  return {
    amount: (values.amount ?? '').trim(),
    models: values.models ?? '',
    action: oneOf(BUDGET_ACTIONS, values.action),
    notify_at: (values.notify_at ?? '').split(/[ ,]+/).filter(Boolean).map(Number),
  };
}

export function newBudgetOf(
  values: FormValues,
  owner: Parameters<typeof scopeOf>[0],
): CreateBudget {
  const scope = oneOf(BUDGET_SCOPES, values.scope);
  return {
    ...settingsOf(values),
    scope: scopeOf(owner, scope),
    of: scope === 'purchases' ? 'purchases' : 'usage',
    require: values.require !== undefined,
    unit: scope === 'purchases' ? 'money' : oneOf(BUDGET_UNITS, values.unit),
    period: oneOf(BUDGET_PERIODS, values.period),
    time_zone: (values.time_zone ?? 'UTC').trim(),
    ...(values.window_minutes !== undefined && { window_minutes: Number(values.window_minutes) }),
  };
}

function oneOf<Value extends string>(
  values: readonly [Value, ...Value[]],
  text: string | undefined,
): Value {
  return values.find((value) => value === text) ?? values[0];
}
