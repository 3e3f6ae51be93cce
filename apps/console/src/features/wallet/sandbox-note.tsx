import { useQuery } from '@tanstack/react-query';
import { useMe } from '../../api/session.ts';
import { walletQuery } from '../../api/wallet.ts';
import { TriangleAlert } from '../../ui/icons.tsx';
import { useSpeech } from '../../words/words.ts';

const WORDS = {
  en: { title: 'Sandbox payments.', text: 'A recharge books money that no payment brought.' },
  zh: { title: '沙盒支付。', text: '充值会直接入账，没有真实付款。' },
};

/** Says that payments here take no money, wherever one pays; nothing where they do. */
export function SandboxNote() {
  const { title, text } = WORDS[useSpeech().language];
  const me = useMe();
  const { data } = useQuery(walletQuery(me.id));
  if (data?.payments !== 'sandbox') return null;
  return (
    <p
      role="note"
      className="flex items-center gap-2 rounded-md border border-line bg-warn-soft px-4 py-2.5"
    >
      <TriangleAlert aria-hidden className="size-4 shrink-0 text-warn" />
      <span>
        <strong className="font-semibold">{title}</strong> {text}
      </span>
    </p>
  );
}
