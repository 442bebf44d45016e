// A command to many: whom, what, a look at whom it reaches, and only then the button that names the effect (D6).
import { useMemo, useState } from 'preact/hooks'
import { RefusalError } from '../../../../../schemas/client/errors.ts'
import type { BroadcastWishBody } from '../../../../../schemas/command.ts'
import type { TargetPreview } from '../../../../../schemas/target-preview.ts'
import { text } from '../../address/codecs.ts'
import { pathOf } from '../../address/routes.ts'
import { may } from '../../data/access.ts'
import { refreshAnswers, useAnswer } from '../../data/answers.ts'
import { fleet } from '../../data/client.ts'
import { newIdempotencyKey, useWrite } from '../../data/writes.ts'
import { navigate, queryValue } from '../../navigation/navigation.ts'
import { AnswerArea } from '../../parts/answer-area.tsx'
import { Button } from '../../parts/button.tsx'
import { CommandForm, type CommandWish } from '../../parts/command-form.tsx'
import type { DeviceType } from '../../parts/command-wish.ts'
import { ConfirmAction } from '../../parts/confirm-action.tsx'
import { Page } from '../../parts/page.tsx'
import { PreviewCounts } from '../../parts/preview-counts.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { RoleNeeded } from '../../parts/role-needed.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { idsIn, targetKind, targetNames } from '../../parts/target.ts'
import { TargetFields } from '../../parts/target-fields.tsx'
import { words } from '../../words/words.ts'

const t = words({
  title: ['Command many devices', 'Befehl an viele Geräte'],
  whom: ['Whom', 'Wen'],
  like: ['Commands of the type', 'Befehle des Typs'],
  what: ['What', 'Was'],
  look: ['Look whom {command} reaches', 'Ansehen, wen {command} erreicht'],
  lookAny: ['Look whom it reaches', 'Ansehen, wen er erreicht'],
  send: [
    { one: 'Send {command} to {n} device', other: 'Send {command} to {n} devices' },
    { one: '{command} an {n} Gerät senden', other: '{command} an {n} Geräte senden' },
  ],
  offline: [
    'Devices that are offline get it when they return, unless it has expired by then.',
    'Geräte, die offline sind, erhalten ihn, sobald sie zurück sind, falls er dann nicht abgelaufen ist.',
  ],
  changed: [
    'The target changed meanwhile: it is {got} devices now, and it was {expected}. Nothing was sent; look again.',
    'Das Ziel hat sich geändert: jetzt sind es {got} Geräte, vorher {expected}. Nichts wurde gesendet; sehen Sie noch einmal hin.',
  ],
  nobody: ['Nobody would get it.', 'Niemand würde ihn erhalten.'],
})

const TARGETS = ['group', 'tag', 'type', 'devices'] as const
const commandValue = queryValue('command', text())

export default function Compose() {
  const types = useAnswer('listDeviceTypes', {})
  return (
    <Page title={t('title')}>
      {may('broadcastCommand') ? (
        <AnswerArea answer={types}>{({ data }) => <Form types={data} />}</AnswerArea>
      ) : (
        <RoleNeeded operation="broadcastCommand" />
      )}
    </Page>
  )
}

interface ReviewedCommand {
  readonly wish: CommandWish
  readonly preview: TargetPreview
}

function Form({ types }: { readonly types: readonly DeviceType[] }) {
  const target = targetKind(TARGETS)
  const which = targetNames.value
  const [type, setType] = useState(types[0]?.name ?? '')
  const [looked, setLooked] = useState<ReviewedCommand | undefined>(undefined)
  const [isConfirming, setConfirming] = useState(false)
  // Another wish is another request; the same one sent again is the same.
  const key = useMemo(newIdempotencyKey, [JSON.stringify(looked)])
  const commands =
    types.find(({ name }) => name === (target === 'type' && which !== '' ? which : type))?.commands ?? null
  const look = useWrite(async (wish: CommandWish) => {
    const preview = await fleet.broadcastCommand({ body: bodyOf(wish), query: { dry_run: true } })
    if ('by_status' in preview) setLooked({ wish, preview })
  })
  const send = async () => {
    if (looked === undefined) return
    const body = { ...bodyOf(looked.wish), expected_total: looked.preview.total }
    const sent = await fleet.broadcastCommand({ body, idempotencyKey: key })
    refreshAnswers('listBroadcasts')
    if ('broadcast_id' in sent) navigate(pathOf('broadcast', { broadcast_id: sent.broadcast_id }))
  }
  const sending = useWrite(send)
  const bodyOf = (wish: CommandWish): BroadcastWishBody => ({
    command: wish.command,
    // The form has parsed it as JSON.
    data: wish.data as NonNullable<BroadcastWishBody['data']>,
    ...(wish.timeout_sec === undefined ? {} : { timeout_sec: wish.timeout_sec }),
    ...(wish.priority === undefined ? {} : { priority: wish.priority }),
    target: targetOf(target, which),
  })
  const again = () => setLooked(undefined)
  const error = sending.error.value ?? look.error.value
  const accepted = looked?.preview.accepted ?? 0
  const name = t('send', { command: looked?.wish.command ?? '', n: accepted })
  return (
    <div class="stack">
      <div class="cards">
        <section class="card">
          <h2>{t('whom')}</h2>
          <TargetFields kinds={TARGETS} onChange={again} error={error} />
          {target !== 'type' && (
            <SelectField
              label={t('like')}
              options={types.map(({ name: typeName, display_name }) => [typeName, display_name] as const)}
              value={type}
              onValue={setType}
            />
          )}
        </section>
        <section class="card">
          <h2>{t('what')}</h2>
          <CommandForm
            key={type}
            commands={commands}
            initial={{ command: commandValue.value === '' ? undefined : commandValue.value }}
            action={(command) => (command === '' ? t('lookAny') : t('look', { command }))}
            onSend={(wish) => void look.run(wish)}
            onChange={again}
            write={look}
            error={error}
          />
        </section>
      </div>
      {error !== undefined && <Wrong error={error} />}
      {looked !== undefined && (
        <>
          <PreviewCounts preview={looked.preview} />
          <p class="muted">{t('offline')}</p>
          <p>
            <Button
              kind={looked.wish.priority === 'critical' ? 'danger' : 'primary'}
              icon="send"
              write={sending}
              disabledBecause={accepted === 0 ? t('nobody') : undefined}
              // An emergency stop must not wait for a dialog; the look before was its confirmation.
              onClick={() =>
                looked.wish.priority === 'critical' || accepted <= 100
                  ? void sending.run()
                  : setConfirming(true)
              }
            >
              {name}
            </Button>
          </p>
        </>
      )}
      {isConfirming && (
        <ConfirmAction
          title={name}
          action={name}
          typed={String(accepted)}
          onConfirm={send}
          onClose={() => setConfirming(false)}
        >
          <p>{t('offline')}</p>
        </ConfirmAction>
      )}
    </div>
  )
}

function Wrong({ error }: { readonly error: unknown }) {
  if (error instanceof RefusalError && error.code === 'TARGET_CHANGED')
    return (
      <p class="problem" role="alert">
        {t('changed', { got: Number(error.problem['got']), expected: Number(error.problem['expected']) })}
      </p>
    )
  return <ProblemCard error={error} />
}

function targetOf(kind: (typeof TARGETS)[number], names: string): NonNullable<BroadcastWishBody['target']> {
  switch (kind) {
    case 'type':
      return { type: 'query', value: { type: names } }
    case 'devices':
      return { type: kind, value: [...idsIn(names)] }
    case 'group':
    case 'tag':
      return { type: kind, value: names }
  }
}
