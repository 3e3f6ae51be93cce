import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { failureOf } from '../../api/failure.ts';
import { newIdempotencyKey } from '../../api/client.ts';
import { renew, subscribe, type PriceTag } from '../../api/models.ts';
import { purchasePreviewQuery } from '../../api/previews.ts';
import { paths } from '../../paths.ts';
import { notify } from '../../browser/notices.ts';
import { TextLink } from '../../ui/forms/button.tsx';
import { Dialog } from '../../ui/forms/dialog.tsx';
import { TextField } from '../../ui/forms/field.tsx';
import { plainDecimal } from '../../ui/forms/decimals.ts';
import { ActForm } from '../../ui/forms/form.tsx';
import { formatCount } from '../../ui/format.ts';
import { Segments } from '../../ui/tables/segments.tsx';
import { useSpeech, useWords } from '../../words/words.ts';
import { PurchaseSummary } from './purchase-summary.tsx';

export interface BuyTarget {
  modelId: number;
  model: string;
  price: PriceTag;
  isSubscribed: boolean;
}

const FIRST_TOKENS = '1000000';
const FIRST_AMOUNT = '10';

/** Asks for tokens or money, and shows before the button what they cost and what remains. */
export function BuyDialog({
  target,
  userId,
  onClose,
}: {
  target: BuyTarget | undefined;
  userId: number;
  onClose: () => void;
}) {
  const { words } = useSpeech();
  const { market } = words;
  const title = target?.isSubscribed ? market.buyTitle : market.subscribeTitle;
  return (
    <Dialog
      title={target ? title(target.model) : ''}
      isOpen={target !== undefined}
      onClose={onClose}
    >
      {({ close }) =>
        target && <BuyForm key={target.modelId} target={target} userId={userId} onDone={close} />
      }
    </Dialog>
  );
}

interface BuyFormProps {
  target: BuyTarget;
  userId: number;
  onDone: () => void;
}

function BuyForm({ target, userId, onDone }: BuyFormProps) {
  const { modelId, model, price, isSubscribed } = target;
  const { words, locale } = useSpeech();
  const [idempotencyKey] = useState(newIdempotencyKey);
  const [unit, setUnit] = useState<'tokens' | 'amount'>('tokens');
  const [tokensText, setTokensText] = useState(FIRST_TOKENS);
  const [amountText, setAmountText] = useState(FIRST_AMOUNT);
  const order =
    unit === 'tokens'
      ? { tokens: wholeNumber(tokensText) }
      : { amount: decimal(amountText, locale) };
  const isComplete = Boolean(order.tokens ?? order.amount);
  const { found, isShort, error } = usePurchasePreview({ modelId, userId, order, isComplete });
  const blockedBy = useBlock({ isComplete, isShort, error, isReady: !!found });
  return (
    <ActForm
      verb={isSubscribed ? words.market.buyMore : words.market.subscribe}
      blockedBy={blockedBy}
      act={() =>
        (isSubscribed ? renew : subscribe)({
          userId,
          modelId,
          tokens: found?.tokens ?? 0,
          idempotencyKey,
        })
      }
      onDone={() => {
        notify({ title: words.market.bought(formatCount(found?.tokens ?? 0, locale), model) });
        onDone();
      }}
      onCancel={onDone}
    >
      <OrderFields
        {...{ price, unit, setUnit, tokensText, setTokensText, amountText, setAmountText }}
      />
      <PurchaseSummary of={found} price={price} />
      {isShort && <RechargeLink />}
    </ActForm>
  );
}

function RechargeLink() {
  const { market } = useWords();
  return (
    <p className="text-table">
      <TextLink to={paths.wallet({ recharge: 1 })}>{market.recharge}</TextLink>
    </p>
  );
}

interface Ordered {
  modelId: number;
  userId: number;
  order: { tokens?: number | undefined; amount?: string | undefined };
  isComplete: boolean;
}

/** Returns what the order costs; nothing while it is incomplete. */
function usePurchasePreview({ modelId, userId, order, isComplete }: Ordered) {
  const { data, error } = useQuery({
    ...purchasePreviewQuery({
      model_id: modelId,
      user_id: userId,
      ...(order.tokens !== undefined && { tokens: order.tokens }),
      ...(order.amount !== undefined && { amount: order.amount }),
    }),
    enabled: isComplete,
  });
  const found = isComplete ? data : undefined;
  return { found, isShort: found !== undefined && !found.is_affordable, error };
}

interface OrderFieldsProps {
  price: PriceTag;
  unit: 'tokens' | 'amount';
  setUnit: (unit: 'tokens' | 'amount') => void;
  tokensText: string;
  setTokensText: (text: string) => void;
  amountText: string;
  setAmountText: (text: string) => void;
}

/** Asks for the amount: tokens, or their cost. */
function OrderFields(props: OrderFieldsProps) {
  const { market } = useWords();
  const { price, unit, setUnit, tokensText, setTokensText, amountText, setAmountText } = props;
  return (
    <>
      {!price.free && (
        <Segments
          label={market.orderBy}
          value={unit}
          onChange={setUnit}
          options={[
            { value: 'tokens', label: market.byTokens },
            { value: 'amount', label: market.byMoney },
          ]}
        />
      )}
      {unit === 'tokens' ? (
        <TextField
          name="tokens"
          label={market.tokensField}
          inputMode="numeric"
          value={tokensText}
          onChange={(event) => setTokensText(event.target.value)}
          autoComplete="off"
        />
      ) : (
        <TextField
          name="amount"
          label={market.amountField}
          unit={price.currency}
          inputMode="decimal"
          value={amountText}
          onChange={(event) => setAmountText(event.target.value)}
          autoComplete="off"
        />
      )}
    </>
  );
}

/** Says why the button cannot be pressed. */
function useBlock({
  isComplete,
  isShort,
  error,
  isReady,
}: {
  isComplete: boolean;
  isShort: boolean;
  error: unknown;
  isReady: boolean;
}): string | undefined {
  const words = useWords();
  const { market, general } = words;
  if (!isComplete) return market.nothingYet;
  if (error !== null) return failureOf(error, words).title;
  if (!isReady) return general.loading;
  return isShort ? market.tooExpensive : undefined;
}

/** Returns the amount as the interface takes it, such as 12.5. */
function decimal(text: string, locale: string): string | undefined {
  const amount = plainDecimal(text, locale);
  return /^\d{1,12}(\.\d{1,6})?$/.test(amount) && Number(amount) > 0 ? amount : undefined;
}

/** Reads 1000000, 1,000,000 and 1 000 000 alike. */
function wholeNumber(text: string): number | undefined {
  const digits = text.replaceAll(/[\s,_.']/g, '');
  return /^\d{1,12}$/.test(digits) && Number(digits) > 0 ? Number(digits) : undefined;
}
