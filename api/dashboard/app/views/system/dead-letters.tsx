// Messages that could not be processed, with the reason and what they were.

import { useState } from 'preact/hooks'
import type { Operations, ReplyOf } from '../../../../../schemas/client/calls.ts'
import { text } from '../../address/codecs.ts'
import { omitEmpty } from '../../address/omit-empty.ts'
import { pathOf } from '../../address/routes.ts'
import { useAnswer } from '../../data/answers.ts'
import { queryValue } from '../../navigation/navigation.ts'
import { Age } from '../../parts/age.tsx'
import { AnswerTable } from '../../parts/answer-table.tsx'
import { Button } from '../../parts/button.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Field } from '../../parts/field.tsx'
import { NoneFits } from '../../parts/filter-chips.tsx'
import { pageValue } from '../../parts/pager.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { number, words } from '../../words/words.ts'
import { LettersByReason, OneLetter } from './letter-actions.tsx'

const t = words({
  title: ['Dead letters', 'Unzustellbares'],
  topic: ['Topic', 'Topic'],
  size: ['Bytes', 'Byte'],
  at: ['Received', 'Empfangen'],
  look: ['Show message', 'Ansehen'],
  empty: ['No dead letters', 'Nichts Unzustellbares'],
  emptyMore: [
    'Messages that cannot be processed are kept here with the reason.',
    'Eine Nachricht, die nicht lesbar oder nicht erlaubt ist, landet hier, mit dem Grund.',
  ],
  match: ['Nothing matches these filters', 'Nichts passt zu diesen Filtern'],
  shown: ['First {shown} of {all} bytes', 'Die ersten {shown} von {all} Byte'],
})

type Letter = ReplyOf<Operations['listDeadLetters']>['data'][number]
const device = queryValue('device', text())
const reason = queryValue('reason', text())

export function DeadLetters() {
  const query = {
    ...omitEmpty({ device_id: device.value, reason: reason.value }),
  }
  const answer = useAnswer(
    'listDeadLetters',
    { query: { ...query, page: pageValue.value } },
    { everyMs: 5000 },
  )
  const [seen, setSeen] = useState<Letter | undefined>(undefined)
  const columns: readonly Column<Letter>[] = [
    { name: t('at'), cell: ({ received_at }) => <Age at={received_at} /> },
    { name: t('device'), cell: ({ device_id }) => <a href={pathOf('device', { device_id })}>{device_id}</a> },
    { name: t('topic'), cell: ({ topic }) => <code>{plainText(topic)}</code> },
    {
      name: t('reason'),
      cell: ({ reason: code, detail }) => (
        <>
          <code>{code}</code>
          <span class="table-more" lang="en">
            {plainText(detail)}
          </span>
        </>
      ),
    },
    { name: t('size'), isNumber: true, cell: ({ payload_bytes }) => number(payload_bytes) },
    {
      name: t('actions'),
      cell: (letter) => <Button icon="eye" label={t('look')} onClick={() => setSeen(letter)} />,
    },
  ]
  return (
    <>
      <LettersByReason reason={reason} deviceId={device.value} />
      <div class="filters">
        <Field label={t('device')} value={device.value} onValue={device.set} spellcheck={false} />
      </div>
      <AnswerTable
        answer={answer}
        empty={
          device.value === '' && reason.value === '' ? (
            <Empty title={t('empty')} hint={t('emptyMore')} />
          ) : (
            <NoneFits title={t('match')} names={['device', 'reason']} />
          )
        }
        caption={t('title')}
        columns={columns}
        idOf={({ id }) => id}
      />
      {seen !== undefined && (
        <Dialog
          title={seen.reason}
          onClose={() => setSeen(undefined)}
          isWide
          actions={<OneLetter letter={seen} onDone={() => setSeen(undefined)} />}
        >
          <p lang="en">{plainText(seen.detail)}</p>
          <p>{plainText(seen.advice)}</p>
          <p class="muted">{t('shown', { shown: bytesOf(seen).length, all: seen.payload_bytes })}</p>
          <pre class="payload">{payloadText(seen)}</pre>
        </Dialog>
      )}
    </>
  )
}

const bytesOf = ({ payload, payload_encoding }: Letter) =>
  payload_encoding === 'base64'
    ? Uint8Array.from(atob(payload), (letter) => letter.charCodeAt(0))
    : new TextEncoder().encode(payload)

/** Bytes that are no text are shown as hexadecimal numbers, sixteen in a line. */
function payloadText(letter: Letter): string {
  if (letter.payload_encoding === 'utf8') return plainText(letter.payload)
  const numbers = Array.from(bytesOf(letter), (byte) => byte.toString(16).padStart(2, '0'))
  const lines = Array.from({ length: Math.ceil(numbers.length / 16) }, (_, line) =>
    numbers.slice(line * 16, line * 16 + 16).join(' '),
  )
  return lines.join('\n')
}
