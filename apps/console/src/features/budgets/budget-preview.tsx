import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { failureOf } from '../../api/failure.ts';
import type { Budget } from '../../api/limits/budgets.ts';
import { budgetPreviewQuery } from '../../api/previews.ts';
import type { Shape } from '../../api/client.ts';
import { Button } from '../../ui/forms/button.tsx';
import { valuesOf, type FormValues } from '../../ui/forms/form.tsx';
import { formatCount } from '../../ui/format.ts';
import { useSpeech } from '../../words/words.ts';
import { useAmounts } from './use-amounts.ts';

type Owner = { user_id: number } | { key_id: number };
type Question = Parameters<typeof budgetPreviewQuery>[0];
/** Has the fields of a budget that the preview asks with. */
type Planned = Pick<Budget, 'unit' | 'period'> & {
  amount?: string | number;
  models?: string;
  time_zone: string;
  window_minutes?: number | null;
};

/** Lets the reader of the form ask what the requests of yesterday would have met, before the budget is saved. */
export function BudgetPreview({
  userId,
  owner,
  plannedBy,
}: {
  userId: number;
  owner: Owner;
  plannedBy: (values: FormValues) => Planned;
}) {
  const { words, locale } = useSpeech();
  const [question, setQuestion] = useState<Question>();
  const { data, error, isFetching } = useQuery({
    ...budgetPreviewQuery(question ?? NOTHING),
    enabled: question !== undefined,
  });
  return (
    <div className="flex flex-col items-start gap-2">
      <Button
        size="small"
        isBusy={isFetching}
        onClick={({ currentTarget: { form } }) => {
          if (form) setQuestion(questionOf(owner, plannedBy(valuesOf(form, locale))));
        }}
      >
        {words.budgets.preview.ask}
      </Button>
      <div role="status" className="text-table text-text-2">
        {question !== undefined && data && <Met by={data} unit={question.unit} userId={userId} />}
        {error !== null && <Refused failure={failureOf(error, words)} />}
      </div>
    </div>
  );
}

const NOTHING: Question = {
  ...{ unit: 'requests', amount: '0', models: '', period: 'day', time_zone: 'UTC' },
};

function questionOf(owner: Owner, planned: Planned): Question {
  const { unit, period, amount = '', models = '', time_zone, window_minutes } = planned;
  return {
    ...owner,
    ...{ unit, period, amount: String(amount), models, time_zone },
    ...(typeof window_minutes === 'number' && { window_minutes }),
  };
}

function Met({
  by: preview,
  unit,
  userId,
}: {
  by: Shape<'BudgetPreview'>;
  unit: Budget['unit'];
  userId: number;
}) {
  const { words, locale } = useSpeech();
  const { write } = useAmounts(userId);
  const says = words.budgets.preview;
  const { requests, used, most, amount, refused } = preview;
  if (requests === 0) return says.nothing;
  return [
    says.used(write(unit, used), write(unit, amount), formatCount(requests, locale)),
    ...(most === used ? [] : [says.most(write(unit, most))]),
    refused === 0 ? says.fits : says.refused(formatCount(refused, locale)),
  ].join(' ');
}

function Refused({ failure }: { failure: ReturnType<typeof failureOf> }) {
  const [fault] = Object.values(failure.fields);
  return <span className="text-bad">{fault ?? failure.detail ?? failure.title}</span>;
}
