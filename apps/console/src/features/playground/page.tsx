import { useQuery } from '@tanstack/react-query';
import { Boxes } from '../../ui/icons.tsx';
import { useState } from 'react';
import { keysQuery } from '../../api/keys.ts';
import { marketQuery, subscriptionsQuery } from '../../api/models.ts';
import { useMe } from '../../api/session.ts';
import { paths } from '../../paths.ts';
import type { Search } from '../../search.ts';
import { Button, ButtonLink } from '../../ui/forms/button.tsx';
import { SelectFilter } from '../../ui/tables/select-filter.tsx';
import { Page as Frame, Panel } from '../../ui/page.tsx';
import { optional, useSearchState, withDefault, z } from '../../ui/tables/search-state.ts';
import { Segments } from '../../ui/tables/segments.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { useWords } from '../../words/words.ts';
import { USUAL_SETTINGS } from '../../api/playground.ts';
import { CallSettingsFields, type SettingsProps } from './call-settings.tsx';
import { Composer } from './composer.tsx';
import { CopyAsCode } from './copy-as-code.tsx';
import { Turns } from './turns.tsx';
import { useConversation, type Choice, type Turn } from './use-conversation.ts';
import type { Prefetch } from '../../page-module.ts';

const schema = z.object({
  model: optional(z.string()),
  protocol: withDefault(z.enum(['openai', 'anthropic']), 'openai'),
  key: optional(z.coerce.number().check(z.int(), z.positive())),
});

/** Names of chat models the account has tokens of. */
function useChatModels() {
  const me = useMe();
  const mine = useQuery(subscriptionsQuery(me.id));
  const { data: offered } = useQuery(marketQuery({ kind: 'embedding' }));
  const embedding = new Set((offered?.data ?? []).map(({ id }) => id));
  return {
    ...mine,
    data: mine.data
      ?.filter(({ model_id: id, is_on_shelf: isOffered }) => isOffered && !embedding.has(id))
      .map(({ model_id: id, model }) => ({ id, name: model })),
  };
}

export const prefetch: Prefetch = (ask, { me }) => {
  ask(subscriptionsQuery(me.id));
  ask(marketQuery({ kind: 'embedding' }));
  ask(keysQuery({ user_id: me.id, status: 'enabled' }));
};

export function Page() {
  const { playground } = useWords();
  const [search, change] = useSearchState(schema);
  const models = useChatModels();
  const model = models.data?.find(({ name }) => name === search.model) ?? models.data?.[0];
  const [settings, setSettings] = useState(USUAL_SETTINGS);
  const choice: Choice = {
    model: model?.name ?? '',
    modelId: model?.id ?? 0,
    protocol: search.protocol,
    keyId: search.key,
    settings,
  };
  return (
    <Frame
      title={playground.title}
      purpose={playground.purpose}
      bar={
        <ChoiceBar
          models={(models.data ?? []).map(({ name }) => name)}
          choice={choice}
          onChange={change}
        />
      }
    >
      <Loaded of={models}>
        {(names) =>
          names.length === 0 ? (
            <NoModels />
          ) : (
            <Conversation choice={choice} onSettings={setSettings} />
          )
        }
      </Loaded>
    </Frame>
  );
}

function NoModels() {
  const { playground } = useWords();
  return (
    <Panel>
      <EmptyState
        icon={<Boxes aria-hidden />}
        title={playground.noModels}
        action={<ButtonLink to={paths.market()}>{playground.toMarket}</ButtonLink>}
      >
        {playground.noModelsText}
      </EmptyState>
    </Panel>
  );
}

interface ChoiceBarProps {
  models: readonly string[];
  choice: Choice;
  onChange: (patch: Search) => void;
}

function ChoiceBar({ models, choice: { model, protocol, keyId }, onChange }: ChoiceBarProps) {
  const { playground } = useWords();
  return (
    <>
      <SelectFilter
        label={playground.model}
        value={model}
        onChange={(value) => onChange({ model: value })}
        options={models.map((name) => ({ value: name, label: name }))}
      />
      <Segments
        label={playground.protocol}
        value={protocol}
        onChange={(value) => onChange({ protocol: value })}
        options={[
          { value: 'openai', label: playground.protocols.openai },
          { value: 'anthropic', label: playground.protocols.anthropic },
        ]}
      />
      <KeyFilter keyId={keyId} onChange={onChange} />
    </>
  );
}

function KeyFilter({ keyId, onChange }: Pick<Choice, 'keyId'> & Pick<ChoiceBarProps, 'onChange'>) {
  const { playground } = useWords();
  const me = useMe();
  const { data: keys } = useQuery(keysQuery({ user_id: me.id, status: 'enabled' }));
  return (
    <SelectFilter
      label={playground.key}
      value={String(keyId ?? '')}
      onChange={(value) => onChange({ key: value })}
      options={[
        { value: '', label: `${playground.key}: ${playground.allKeys}` },
        ...(keys?.data ?? []).map(({ id, name }) => ({
          value: String(id),
          label: `${playground.key}: ${name}`,
        })),
      ]}
    />
  );
}

function Conversation({
  choice,
  onSettings,
}: { choice: Choice } & Pick<SettingsProps, 'onSettings'>) {
  const { turns, isRunning, send, stop, restart } = useConversation();
  const [draft, setDraft] = useState('');
  return (
    <div className="flex max-w-3xl flex-col gap-4">
      <Panel
        title={choice.model}
        actions={turns.length > 0 && <TurnActions {...{ choice, turns, restart }} />}
      >
        <Turns turns={turns} isRunning={isRunning} modelId={choice.modelId} />
      </Panel>
      <CallSettingsFields settings={choice.settings} onSettings={onSettings} />
      <Composer
        draft={draft}
        onDraft={setDraft}
        isRunning={isRunning}
        onStop={stop}
        onSend={() => {
          const text = draft.trim();
          if (text === '' || isRunning) return;
          setDraft('');
          void send(text, choice);
        }}
      />
    </div>
  );
}

interface TurnActionsProps {
  choice: Choice;
  turns: readonly Turn[];
  restart: () => void;
}

function TurnActions({ choice, turns, restart }: TurnActionsProps) {
  const { playground } = useWords();
  return (
    <>
      <CopyAsCode choice={choice} turns={turns} />
      <Button size="small" onClick={restart}>
        {playground.restart}
      </Button>
    </>
  );
}
