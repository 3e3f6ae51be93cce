import { useQuery } from '@tanstack/react-query';
import { modelRemovalPreviewQuery } from '../../api/previews.ts';
import {
  createModel,
  deleteModel,
  updateModel,
  type Model,
  type ModelSettings,
} from '../../api/catalogue.ts';
import { FormDialog, ConfirmDialog } from '../../ui/forms/confirm-dialog.tsx';
import { CheckField, SelectField, TextField } from '../../ui/forms/field.tsx';
import type { FormValues } from '../../ui/forms/form.tsx';
import { formatCount, formatMoney } from '../../ui/format.ts';
import { useSpeech, useWords } from '../../words/words.ts';
import { ModelMoreFields, moreSettingsOf } from './model-more-fields.tsx';
import { PriceFields, priceOf } from './price-fields.tsx';

interface DialogProps {
  isOpen: boolean;
  onClose: () => void;
}

export function CreateModelDialog({ isOpen, onClose }: DialogProps) {
  const { admin } = useWords();
  const { models } = admin;
  return (
    <FormDialog
      title={models.add}
      verb={models.add}
      isOpen={isOpen}
      onClose={onClose}
      act={(values) =>
        createModel({
          ...settingsOf(values),
          ...(values.price_per_million ? { price: priceOf(values) } : {}),
          is_on_shelf: values.is_on_shelf === 'on',
        })
      }
      done={({ name }) => models.created(name)}
    >
      <ModelFields />
      <PriceFields />
      <CheckField name="is_on_shelf" label={models.sellNow} defaultChecked />
    </FormDialog>
  );
}

export function EditModelDialog({ of: model, isOpen, onClose }: DialogProps & { of: Model }) {
  const { admin, general } = useWords();
  const { models } = admin;
  return (
    <FormDialog
      title={models.edit}
      purpose={model.name}
      verb={general.save}
      isOpen={isOpen}
      onClose={onClose}
      act={(values) => updateModel(model.id, settingsOf(values, model))}
      done={() => models.saved}
    >
      <ModelFields of={model} />
    </FormDialog>
  );
}

export function DeleteModelDialog({
  of: model,
  isOpen,
  onClose,
  onDeleted,
}: DialogProps & { of: Model; onDeleted: () => Promise<void> }) {
  const { words, locale } = useSpeech();
  const { models } = words.admin;
  const { data } = useQuery({ ...modelRemovalPreviewQuery(model.id), enabled: isOpen });
  const subscribers = data && {
    count: formatCount(data.subscriptions, locale),
    tokens: formatCount(data.refunded_tokens, locale),
    amount: formatMoney(data.refunded_amount, { currency: data.currency, locale }),
  };
  return (
    <ConfirmDialog
      title={`${models.remove}: ${model.name}`}
      text={
        <>
          {models.removeText} {subscribers && models.removeRefund(subscribers)}
        </>
      }
      verb={models.remove}
      isOpen={isOpen}
      onClose={onClose}
      act={({ refund }) => deleteModel(model.id, refund === 'on')}
      done={() => models.removed(model.name)}
      onDone={onDeleted}
    >
      <CheckField name="refund" label={models.refund} help={models.refundHelp} />
    </ConfirmDialog>
  );
}

function ModelFields({ of: model }: { of?: Model }) {
  const { admin } = useWords();
  const { models } = admin;
  return (
    <>
      <TextField
        name="name"
        label={models.name}
        help={models.nameHelp}
        defaultValue={model?.name}
        required
        autoComplete="off"
      />
      <TextField
        name="display_name"
        label={models.displayName}
        defaultValue={model?.display_name}
        autoComplete="off"
      />
      <ModelKindFields of={model} />
      <CheckField
        name="continues"
        label={models.continues}
        help={models.continuesHelp}
        defaultChecked={model?.failover.continues ?? false}
      />
      <CheckField
        name="names_upstream"
        label={models.namesUpstream}
        help={models.namesUpstreamHelp}
        defaultChecked={model?.failover.names_upstream ?? false}
      />
      <ModelMoreFields of={model} />
    </>
  );
}

function ModelKindFields({ of: model }: { of: Model | undefined }) {
  const { models } = useWords().admin;
  const count = { inputMode: 'numeric', pattern: '[0-9]*', autoComplete: 'off' } as const;
  return (
    <div className="grid grid-cols-2 gap-3 max-sm:grid-cols-1">
      <SelectField
        name="kind"
        label={models.kind}
        defaultValue={model?.kind ?? 'chat'}
        options={[
          { value: 'chat', label: models.kinds.chat },
          { value: 'embedding', label: models.kinds.embedding },
        ]}
      />
      <TextField
        name="owned_by"
        label={models.ownedBy}
        defaultValue={model?.owned_by}
        autoComplete="off"
      />
      <TextField
        name="context_window"
        label={models.context}
        defaultValue={model?.context_window ?? ''}
        {...count}
      />
      <TextField
        name="max_output_tokens"
        label={models.maxOutput}
        defaultValue={model?.max_output_tokens ?? ''}
        {...count}
      />
    </div>
  );
}

function settingsOf(values: FormValues, model?: Model): ModelSettings {
  const count = (name: string): number | null =>
    values[name] === undefined || values[name] === '' ? null : Number(values[name]);
  return {
    name: values.name ?? '',
    ...(values.display_name ? { display_name: values.display_name } : {}),
    ...(values.owned_by ? { owned_by: values.owned_by } : {}),
    kind: values.kind === 'embedding' ? 'embedding' : 'chat',
    context_window: count('context_window'),
    max_output_tokens: count('max_output_tokens'),
    failover: failoverOf(values, model?.failover),
    ...moreSettingsOf(values, model === undefined),
  };
}

/** Returns the members of `failover`. Members without a field of the form stay as they are. */
function failoverOf(values: FormValues, current: Model['failover'] = {}): Model['failover'] {
  const { continues: _continues, names_upstream: _names, ...others } = current;
  return {
    ...others,
    ...(values.continues === 'on' && { continues: true }),
    ...(values.names_upstream === 'on' && { names_upstream: true }),
  };
}
