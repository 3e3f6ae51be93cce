import { useQuery } from '@tanstack/react-query';
import { Circle, CircleCheck } from '../../ui/icons.tsx';
import { keysQuery } from '../../api/keys.ts';
import { subscriptionsQuery } from '../../api/models.ts';
import { useMe } from '../../api/session.ts';
import { useLive } from '../../api/events/stream.ts';
import { requestsQuery } from '../../api/usage.ts';
import { walletQuery } from '../../api/wallet.ts';
import { paths } from '../../paths.ts';
import { ButtonLink } from '../../ui/forms/button.tsx';
import { formatCount, formatMoney } from '../../ui/format.ts';
import { Panel } from '../../ui/page.tsx';
import { useSpeech, type Speech } from '../../words/words.ts';

interface Step {
  title: string;
  text: string;
  /** Says what the step led to; undefined until it is done. */
  result: string | undefined;
  /** Is undefined where another person does it. */
  act: { label: string; to: string } | undefined;
}

/** Shows the steps from a new account to the first call. Each step's result appears as it happens, and all steps disappear after the first call. */
export function FirstSteps() {
  const { words } = useSpeech();
  const { steps } = words.overview;
  const found = useSteps();
  if (!found || found.every(({ result }) => result !== undefined)) return null;
  const next = found.findIndex(({ result }) => result === undefined);
  return (
    <Panel title={steps.title} note={steps.purpose}>
      <ol className="flex flex-col">
        {found.map((step, index) => (
          <li
            key={step.title}
            className="flex flex-wrap items-center gap-x-3 gap-y-2 border-t border-line py-3 first:border-t-0 first:pt-0 last:pb-0"
          >
            {step.result === undefined ? (
              <Circle aria-hidden className="size-5 shrink-0 text-text-3" />
            ) : (
              <CircleCheck aria-label={steps.done} className="size-5 shrink-0 text-good" />
            )}
            <div className="min-w-0 flex-1 basis-52">
              <p className="font-medium">{step.title}</p>
              <p className="foreign text-table text-text-2">{step.result ?? step.text}</p>
            </div>
            {step.result === undefined && step.act && (
              <ButtonLink
                size="small"
                to={step.act.to}
                look={index === next ? 'primary' : 'secondary'}
              >
                {step.act.label}
              </ButtonLink>
            )}
          </li>
        ))}
      </ol>
    </Panel>
  );
}

export const anyRequestQuery = (userId: number) =>
  requestsQuery({ user_id: userId, page_size: 1 }, { name: '90d', interval: 'day' });

/** Returns undefined until all of it is known, because half a checklist would be wrong. */
function useSteps(): Step[] | undefined {
  const speech = useSpeech();
  const { words, locale } = speech;
  const { steps } = words.overview;
  const me = useMe();
  const found = useFound(me.id);
  if (!found) return undefined;
  const { subscription, key, call } = found;
  return [
    fundStep(found, speech),
    {
      title: steps.subscribe,
      text: steps.subscribeText,
      result:
        subscription &&
        steps.subscribed(subscription.model, formatCount(subscription.tokens, locale)),
      act: { label: steps.subscribeAct, to: paths.market() },
    },
    {
      title: steps.key,
      text: steps.keyText,
      result: key && steps.keyDone(key.name),
      act: { label: steps.keyAct, to: paths.keys({ create: 1 }) },
    },
    {
      title: steps.call,
      text: steps.callText,
      result: call && steps.callDone(formatCount(call.charge, locale)),
      act: { label: steps.callAct, to: paths.playground() },
    },
  ];
}

function fundStep({ wallet, subscription }: Found, { words, locale }: Speech): Step {
  const { steps } = words.overview;
  const hasMoney = Number(wallet.balance) > 0;
  const canPay = wallet.payments !== 'none';
  return {
    title: steps.fund,
    text: canPay ? steps.fundText : words.failures.codes.payments_not_configured,
    result:
      hasMoney || subscription
        ? formatMoney(wallet.balance, { currency: wallet.currency, locale })
        : undefined,
    act: canPay ? { label: steps.fundAct, to: paths.wallet({ recharge: 1 }) } : undefined,
  };
}

type Found = NonNullable<ReturnType<typeof useFound>>;

/** Returns what the steps have led to so far. */
function useFound(userId: number) {
  const live = useLive();
  const { data: wallet } = useQuery({ ...walletQuery(userId), ...live });
  const { data: subscriptions } = useQuery({ ...subscriptionsQuery(userId), ...live });
  const { data: keys } = useQuery(keysQuery({ user_id: userId }));
  const { data: requests } = useQuery({ ...anyRequestQuery(userId), ...live });
  if (!wallet || !subscriptions || !keys || !requests) return undefined;
  return { wallet, subscription: subscriptions[0], key: keys.data[0], call: requests.data[0] };
}
