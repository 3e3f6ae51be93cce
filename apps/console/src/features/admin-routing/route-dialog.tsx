import { createRoute, updateRoute, type Route } from '../../api/upstreams.ts';
import { FormDialog } from '../../ui/forms/confirm-dialog.tsx';
import { SelectField, TextField } from '../../ui/forms/field.tsx';
import { useWords } from '../../words/words.ts';
import { useNames } from './use-names.ts';

const LIMIT_FIELDS = ['auto', 'max_tokens', 'max_completion_tokens'] as const;

interface RouteDialogProps {
  of?: Route;
  isOpen: boolean;
  onClose: () => void;
}

export function RouteDialog({ of: route, isOpen, onClose }: RouteDialogProps) {
  const { admin, general } = useWords();
  const { routing } = admin;
  return (
    <FormDialog
      draft={`route ${route?.id ?? ''}`}
      title={route ? routing.edit : routing.add}
      verb={route ? general.save : routing.add}
      isOpen={isOpen}
      onClose={onClose}
      act={(values) => {
        const settings = {
          model_id: Number(values.model_id),
          upstream_id: Number(values.upstream_id),
          ...(values.upstream_model ? { upstream_model: values.upstream_model } : {}),
          priority: Number(values.priority),
          weight: Number(values.weight),
          output_limit_field:
            LIMIT_FIELDS.find((field) => field === values.output_limit_field) ?? 'auto',
          context_window: values.context_window ? Number(values.context_window) : null,
        };
        return route ? updateRoute(route.id, settings) : createRoute(settings);
      }}
      done={() => routing.saved}
    >
      <RouteFields of={route} />
    </FormDialog>
  );
}

function RouteFields({ of: route }: { of: Route | undefined }) {
  const { routing } = useWords().admin;
  const { models, upstreams } = useNames();
  return (
    <>
      <SelectField
        name="model_id"
        label={routing.model}
        defaultValue={route?.model_id}
        options={optionsOf(models)}
      />
      <SelectField
        name="upstream_id"
        label={routing.upstream}
        defaultValue={route?.upstream_id}
        options={optionsOf(upstreams)}
      />
      <TextField
        name="upstream_model"
        label={routing.upstreamModel}
        help={routing.upstreamModelHelp}
        defaultValue={route?.upstream_model}
        autoComplete="off"
      />
      <OrderFields of={route} />
      <LimitFields of={route} />
    </>
  );
}

/** Holds the fields that say by what order the route is chosen. */
function OrderFields({ of: route }: { of: Route | undefined }) {
  const { routing } = useWords().admin;
  const whole = { inputMode: 'numeric', pattern: '[0-9]*', autoComplete: 'off' } as const;
  return (
    <>
      <TextField
        name="priority"
        label={routing.tier}
        help={routing.tierHelp}
        defaultValue={route?.priority ?? 1}
        {...whole}
      />
      <TextField
        name="weight"
        label={routing.weight}
        help={routing.weightHelp}
        defaultValue={route?.weight ?? 1}
        {...whole}
      />
    </>
  );
}

/** Shows what a route takes where it differs from the model. */
function LimitFields({ of: route }: { of: Route | undefined }) {
  const { routing } = useWords().admin;
  return (
    <>
      <SelectField
        name="output_limit_field"
        label={routing.limitField}
        help={routing.limitFieldHelp}
        defaultValue={route?.output_limit_field ?? 'auto'}
        options={LIMIT_FIELDS.map((value) => ({
          value,
          label: value === 'auto' ? routing.limitFieldAuto : value,
        }))}
      />
      <TextField
        name="context_window"
        label={routing.context}
        help={routing.contextHelp}
        defaultValue={route?.context_window ?? ''}
        inputMode="numeric"
        pattern="[0-9]*"
        autoComplete="off"
      />
    </>
  );
}

function optionsOf(named: ReadonlyMap<number, { id: number; name: string }>) {
  return [...named.values()].map(({ id, name }) => ({ value: String(id), label: name }));
}
