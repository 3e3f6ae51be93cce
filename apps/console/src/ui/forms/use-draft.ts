import { use, useEffect, useLayoutEffect, useRef, useState, type RefObject } from 'react';
import {
  DiscardContext,
  dropDraft,
  draftName,
  fillIn,
  readDraft,
  saveDraft,
  type Draft,
} from './drafts.ts';

interface KeptDraft {
  /** Counts how often one started over: the fields are drawn again. */
  round: number;
  isRestored: boolean;
  save: () => void;
  drop: () => void;
  startOver: () => void;
}

/** Keeps what is entered in a form of this name until it is sent or discarded. Without a name nothing is kept. */
export function useDraft(
  form: RefObject<HTMLFormElement | null>,
  of: string | undefined,
): KeptDraft {
  const [name] = useState(() => (of === undefined ? undefined : draftName(of)));
  const [draft] = useState(() => (name === undefined ? [] : readDraft(name)));
  const [round, setRound] = useState(0);
  const { rest, giveUp } = useFilling(form, draft);
  const register = use(DiscardContext);
  useEffect(() => {
    register?.(() => name !== undefined && dropDraft(name));
    return () => register?.(undefined);
  }, [register, name]);
  const drop = (): void => {
    if (name !== undefined) dropDraft(name);
  };
  return {
    round,
    isRestored: draft.length > 0 && round === 0,
    save: () => {
      if (name !== undefined && form.current) saveDraft(name, form.current, rest.current);
    },
    drop,
    startOver: () => {
      drop();
      giveUp();
      setRound(round + 1);
    },
  };
}

/** Fills in the draft as the form gets its fields. Returns what is left, and the act that gives it up. */
function useFilling(form: RefObject<HTMLFormElement | null>, draft: Draft) {
  const rest = useRef(draft);
  useLayoutEffect(() => {
    const element = form.current;
    if (!element || rest.current.length === 0) return undefined;
    const fill = (): void => {
      const before = rest.current.length;
      rest.current = fillIn(element, rest.current);
      if (rest.current.length === 0) observer.disconnect();
      // Fields behind a choice that was entered just now may still be the old ones.
      else if (rest.current.length < before) requestAnimationFrame(fill);
    };
    const observer = new MutationObserver(fill);
    observer.observe(element, { childList: true, subtree: true });
    fill();
    return () => observer.disconnect();
  }, [form]);
  const giveUp = (): void => {
    rest.current = [];
  };
  return { rest, giveUp };
}
