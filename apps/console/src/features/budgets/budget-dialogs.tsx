import { useState } from 'react';
import {
  createBudget,
  deleteBudget,
  grantBudget,
  resetBudget,
  updateBudget,
  type Budget,
  type BudgetScope,
} from '../../api/limits/budgets.ts';
import { newIdempotencyKey } from '../../api/client.ts';
import { ConfirmDialog, FormDialog } from '../../ui/forms/confirm-dialog.tsx';
import { TextField } from '../../ui/forms/field.tsx';
import { useWords } from '../../words/words.ts';
import {
  AmountField,
  BudgetFields,
  newBudgetOf,
  PeriodFields,
  ScopeFields,
  settingsOf,
  UnitField,
} from './budget-fields.tsx';
import { BudgetHistory } from './budget-history.tsx';
import { BudgetPreview } from './budget-preview.tsx';
import type { BudgetAct } from './use-budget-columns.tsx';
import { useAmounts } from './use-amounts.ts';

export type BudgetDialog =
  | { kind: BudgetAct; of: Budget }
  | { kind: 'create'; userId: number; keyId: number | undefined };

/** Shows what is done with budgets: a new one, or one act on one that is there. */
export function BudgetDialogs({ open, onClose }: { open: BudgetDialog; onClose: () => void }) {
  switch (open.kind) {
    case 'create':
      return <CreateBudgetDialog userId={open.userId} keyId={open.keyId} onClose={onClose} />;
    case 'edit':
      return <EditBudgetDialog of={open.of} onClose={onClose} />;
    case 'grant':
      return <GrantDialog of={open.of} onClose={onClose} />;
    case 'reset':
      return <ResetDialog of={open.of} onClose={onClose} />;
    case 'history':
      return <BudgetHistory of={open.of} onClose={onClose} />;
    case 'delete':
      return <DeleteBudgetDialog of={open.of} onClose={onClose} />;
  }
}

interface CreateBudgetProps {
  userId: number;
  keyId: number | undefined;
  onClose: () => void;
}

function CreateBudgetDialog({ userId, keyId, onClose }: CreateBudgetProps) {
  const { budgets } = useWords();
  const { currency } = useAmounts(userId);
  const [idempotencyKey] = useState(newIdempotencyKey);
  const [scope, setScope] = useState<BudgetScope>('all');
  const [unit, setUnit] = useState<Budget['unit']>('charged_tokens');
  const owner = keyId === undefined ? { user_id: userId } : { key_id: keyId };
  const isOfPurchases = scope === 'purchases';
  return (
    <FormDialog
      title={budgets.create}
      purpose={keyId === undefined ? budgets.purposeOfAccount : budgets.purposeOfKey}
      verb={budgets.create}
      isOpen
      onClose={onClose}
      act={(values) => createBudget(newBudgetOf(values, owner), idempotencyKey)}
      done={() => (isOfPurchases ? budgets.createdOfPurchases : budgets.created)}
    >
      <ScopeFields scope={scope} isOfKey={keyId !== undefined} onScope={setScope} />
      {!isOfPurchases && <UnitField unit={unit} onUnit={setUnit} />}
      <PeriodFields />
      <BudgetFields
        counts={isOfPurchases ? 'purchases' : 'usage'}
        unit={isOfPurchases ? 'money' : unit}
        currency={currency}
      />
      {scope === 'all' && (
        <BudgetPreview
          userId={userId}
          owner={owner}
          plannedBy={(values) => newBudgetOf(values, owner)}
        />
      )}
    </FormDialog>
  );
}

interface BudgetDialogProps {
  of: Budget;
  onClose: () => void;
}

function EditBudgetDialog({ of: budget, onClose }: BudgetDialogProps) {
  const { budgets, general } = useWords();
  const { currency } = useAmounts(budget.user_id);
  return (
    <FormDialog
      title={budgets.acts.edit}
      purpose={budgets.editText}
      verb={general.save}
      isOpen
      onClose={onClose}
      act={(values) => updateBudget(budget.id, settingsOf(values))}
      done={() => budgets.saved}
    >
      <BudgetFields of={budget} counts={budget.of} unit={budget.unit} currency={currency} />
      {budget.of === 'usage' && budget.each === null && (
        <BudgetPreview
          userId={budget.user_id}
          owner={budget.key_id === null ? { user_id: budget.user_id } : { key_id: budget.key_id }}
          plannedBy={(values) => ({ ...budget, ...settingsOf(values) })}
        />
      )}
    </FormDialog>
  );
}

function GrantDialog({ of: budget, onClose }: BudgetDialogProps) {
  const { budgets } = useWords();
  const { currency } = useAmounts(budget.user_id);
  const [idempotencyKey] = useState(newIdempotencyKey);
  return (
    <FormDialog
      title={budgets.acts.grant}
      purpose={budgets.grantText}
      verb={budgets.acts.grant}
      isOpen
      onClose={onClose}
      act={({ amount = '', reason = '' }) =>
        grantBudget(budget.id, { amount: amount.trim(), reason, idempotencyKey })
      }
      done={() => budgets.grantDone}
    >
      <AmountField unit={budget.unit} currency={currency} />
      <ReasonField />
    </FormDialog>
  );
}

function ResetDialog({ of: budget, onClose }: BudgetDialogProps) {
  const { budgets } = useWords();
  const [idempotencyKey] = useState(newIdempotencyKey);
  return (
    <FormDialog
      title={budgets.acts.reset}
      purpose={budgets.resetText}
      verb={budgets.acts.reset}
      isOpen
      onClose={onClose}
      act={({ reason = '' }) => resetBudget(budget.id, { reason, idempotencyKey })}
      done={() => budgets.resetDone}
    >
      <ReasonField />
    </FormDialog>
  );
}

function ReasonField() {
  const { budgets } = useWords();
  return (
    <TextField
      name="reason"
      label={budgets.reason}
      help={budgets.reasonHelp}
      required
      maxLength={500}
      autoComplete="off"
    />
  );
}

function DeleteBudgetDialog({ of: budget, onClose }: BudgetDialogProps) {
  const { budgets } = useWords();
  return (
    <ConfirmDialog
      title={budgets.acts.delete}
      text={budgets.deleteText}
      verb={budgets.acts.delete}
      isOpen
      onClose={onClose}
      act={() => deleteBudget(budget.id)}
      done={() => budgets.deleted}
    />
  );
}
