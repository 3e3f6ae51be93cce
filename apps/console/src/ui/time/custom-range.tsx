import { useState } from 'react';
import { useWords } from '../../words/words.ts';
import { Button } from '../forms/button.tsx';
import { Dialog } from '../forms/dialog.tsx';
import { TextField } from '../forms/field.tsx';
import { DAY } from '../../api/range-bounds.ts';

interface CustomRangeDialogProps extends RangeFormProps {
  isOpen: boolean;
  onClose: () => void;
}

/** Asks for a range that has no name, from a moment to another. */
export function CustomRangeDialog({ first, onChoose, isOpen, onClose }: CustomRangeDialogProps) {
  const { shell } = useWords();
  return (
    <Dialog title={shell.rangeCustom} isOpen={isOpen} onClose={onClose}>
      {({ close }) => (
        <RangeForm
          first={first}
          onChoose={(from, to) => {
            onChoose(from, to);
            close();
          }}
        />
      )}
    </Dialog>
  );
}

interface RangeFormProps {
  first: { from?: string | undefined; to?: string | undefined };
  onChoose: (from: string, to: string) => void;
}

function RangeForm({ first, onChoose }: RangeFormProps) {
  const { shell } = useWords();
  const [from, setFrom] = useState(() => toInput(first.from ?? new Date(Date.now() - DAY)));
  const [to, setTo] = useState(() => toInput(first.to ?? new Date()));
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        onChoose(new Date(from).toISOString(), new Date(to).toISOString());
      }}
    >
      <TextField
        name="from"
        label={shell.rangeFrom}
        type="datetime-local"
        required
        max={to}
        value={from}
        onChange={(event) => setFrom(event.target.value)}
      />
      <TextField
        name="to"
        label={shell.rangeTo}
        type="datetime-local"
        required
        min={from}
        value={to}
        onChange={(event) => setTo(event.target.value)}
      />
      <Button type="submit" look="primary" className="self-end">
        {shell.rangeApply}
      </Button>
    </form>
  );
}

/** Returns the value of the browser's field of date and time: local time, without a zone. */
function toInput(at: string | Date): string {
  const time = new Date(at);
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
