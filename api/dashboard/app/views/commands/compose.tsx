// A command to many: whom, what, a look at whom it reaches, and only then the button that names the effect (D6).

import { useMemo, useRef, useState } from 'preact/hooks'
import { BODY_LIMITS } from '../../../../../schemas/body-limits.ts'
import { RefusalError } from '../../../../../schemas/client/errors.ts'
import type { BroadcastRequestBody } from '../../../../../schemas/command.ts'
import type { TargetPreview } from '../../../../../schemas/target-preview.ts'
import { omitEmpty } from '../../address/omit-empty.ts'
import { pathOf } from '../../address/routes.ts'
import { splitList } from '../../address/split-list.ts'
import { refreshAnswers, useAnswer } from '../../data/answers.ts'
import { fleet } from '../../data/client.ts'
import { newIdempotencyKey, useWrite } from '../../data/writes.ts'
import { navigate } from '../../navigation/navigation.ts'
import { AnswerArea } from '../../parts/answer-area.tsx'
import { Button } from '../../parts/button.tsx'
import { commandInAddress, draftInAddress } from '../../parts/command-address.ts'
import type { DeviceType } from '../../parts/command-draft.ts'
import { type CommandDraft, CommandForm } from '../../parts/command-form.tsx'
import { ConfirmAction } from '../../parts/confirm-action.tsx'
import { HoldButton } from '../../parts/hold-button.tsx'
import { Page } from '../../parts/page.tsx'
import { PreviewCounts } from '../../parts/preview-counts.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { filterTarget, targetKind, targetNames } from '../../parts/target.ts'
import { TargetChanged } from '../../parts/target-changed.tsx'
import { TargetFields } from '../../parts/target-fields.tsx'
import { duration } from '../../words/time.ts'
import { words } from '../../words/words.ts'

const t = words({
  title: ['New broadcast', 'Befehl an viele Geräte'],
  whom: ['Recipients', 'Wen'],
  like: ['Commands of type', 'Befehle des Typs'],
  look: ['Preview recipients of {command}', 'Ansehen, wen {command} erreicht'],
  lookAny: ['Preview recipients', 'Ansehen, wen er erreicht'],
  send: [
    'Send {command} to {n} device | Send {command} to {n} devices',
    '{command} an {n} Gerät senden | {command} an {n} Geräte senden',
  ],
  offline: [
    '{n} device is offline: the command waits for it until it expires in {time}. | {n} devices are offline: the command waits for them until it expires in {time}.',
    '{n} Gerät ist offline: der Befehl wartet darauf, bis er in {time} abläuft. | {n} Geräte sind offline: der Befehl wartet auf sie, bis er in {time} abläuft.',
  ],
  nobodyOffline: ['All of them are online.', 'Keines davon ist offline.'],
  nobody: ['No device would receive it.', 'Niemand würde ihn erhalten.'],
})

/** More devices than these are confirmed by typing their number. */
const TYPED_ABOVE = 100
const TARGETS = ['group', 'tag', 'type', 'devices', 'filter'] as const

export default function Compose() {
  const types = useAnswer('listDeviceTypes', {})
  return (
    <Page title={t('title')} needs="broadcastCommand">
      <AnswerArea answer={types}>{({ data }) => <Form types={data} />}</AnswerArea>
    </Page>
  )
}

interface ReviewedCommand {
  /** The kind and the names of the target that the address had. */
  readonly of: string
  readonly draft: CommandDraft
  readonly body: BroadcastRequestBody
  readonly preview: TargetPreview
  /** What was seen before, if the target has changed since. */
  readonly before?: TargetPreview
}

function Form({ types }: { readonly types: readonly DeviceType[] }) {
  const target = targetKind(TARGETS)
  const which = targetNames.value
  const [type, setType] = useState(() => typeFor(types, commandInAddress.value))
  const of = `${target} ${which}`
  const [lookedLast, setLooked] = useState<ReviewedCommand | undefined>(undefined)
  // The address may have changed since, also while the answer was under way.
  const looked = lookedLast?.of === of ? lookedLast : undefined
  /** How often the command or its target was changed: what was asked before that is about another one. */
  const changesCount = useRef(0)
  const [isConfirming, setConfirming] = useState(false)
  // Another draft is another request; the same one sent again is the same.
  const key = useMemo(newIdempotencyKey, [JSON.stringify(looked)])
  const meant = target === 'type' && which !== '' ? which : type
  const commands = types.find(({ name }) => name === meant)?.commands ?? null
  const initial = draftInAddress()
  const isKnown = commands === null || commands.some(({ name }) => name === initial?.command)
  /** `count` is that of the changes when the draft was written. */
  const lookAt = async (draft: CommandDraft, count: number, before?: TargetPreview) => {
    const body = bodyOf(draft)
    const preview = await fleet.broadcastCommand({ body, query: { dry_run: true } })
    if ('by_status' in preview && changesCount.current === count)
      setLooked({ of, draft, body, preview, ...(before === undefined ? {} : { before }) })
    return preview
  }
  const look = useWrite((draft: CommandDraft) => lookAt(draft, changesCount.current))
  const send = async () => {
    if (looked === undefined) return
    const count = changesCount.current
    const body = { ...looked.body, expected_total: looked.preview.total }
    const sent = await fleet.broadcastCommand({ body, idempotencyKey: key }).catch(async (error: unknown) => {
      if (!(error instanceof RefusalError) || error.code !== 'TARGET_CHANGED') throw error
      // Nothing was sent: the look comes back, with what changed since.
      return await lookAt(looked.draft, count, looked.preview)
    })
    refreshAnswers('listBroadcasts')
    if ('broadcast_id' in sent) navigate(pathOf('broadcast', { broadcast_id: sent.broadcast_id }))
  }
  const sending = useWrite(send)
  const bodyOf = (draft: CommandDraft): BroadcastRequestBody => ({
    command: draft.command,
    // The form has parsed it as JSON.
    data: draft.data as NonNullable<BroadcastRequestBody['data']>,
    ...omitEmpty({ timeout_sec: draft.timeout_sec, priority: draft.priority }),
    target: targetOf(target, which),
  })
  const again = () => {
    changesCount.current += 1
    setLooked(undefined)
  }
  const error = sending.error.value ?? look.error.value
  const accepted = looked?.preview.accepted ?? 0
  const name = t('send', { command: looked?.draft.command ?? '', n: accepted })
  const sendButton = { write: sending, disabledBecause: accepted === 0 ? t('nobody') : undefined }
  const offline = looked === undefined ? '' : offlineText(looked)
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
            // Another type has other commands: one that it does not know is not kept.
            key={commands === null ? '' : meant}
            commands={commands}
            initial={isKnown ? (initial ?? {}) : {}}
            action={(command) => (command === '' ? t('lookAny') : t('look', { command }))}
            onSend={(draft) => void look.run(draft)}
            onChange={again}
            write={look}
            error={error}
          />
        </section>
      </div>
      <ProblemCard error={error} />
      {looked?.before !== undefined && <TargetChanged before={looked.before} now={looked.preview} />}
      {looked !== undefined && (
        <>
          <PreviewCounts preview={looked.preview} />
          <p class="muted">{offline}</p>
          <p>
            {looked.draft.priority === 'critical' ? (
              <HoldButton icon="send" {...sendButton} onMeant={() => void sending.run()}>
                {name}
              </HoldButton>
            ) : (
              <Button
                kind="primary"
                icon="send"
                {...sendButton}
                onClick={() => (accepted <= TYPED_ABOVE ? void sending.run() : setConfirming(true))}
              >
                {name}
              </Button>
            )}
          </p>
        </>
      )}
      {isConfirming && (
        <ConfirmAction
          action={name}
          typed={String(accepted)}
          onConfirm={send}
          onClose={() => setConfirming(false)}
        >
          <p>{offline}</p>
        </ConfirmAction>
      )}
    </div>
  )
}

/** A type that knows the command of the address, or takes any. */
function typeFor(types: readonly DeviceType[], command: string): string {
  const knows = types.find(({ commands }) => commands?.some(({ name }) => name === command) === true)
  const takesAny = command === '' ? undefined : types.find(({ commands }) => commands === null)
  return (knows ?? takesAny ?? types[0])?.name ?? ''
}

/** What becomes of the command for those who are away. */
function offlineText({ draft: { timeout_sec, priority }, preview: { by_status } }: ReviewedCommand): string {
  const usual =
    priority === 'critical' ? BODY_LIMITS.commandTimeoutSecCritical : BODY_LIMITS.commandTimeoutSecDefault
  const n = by_status['offline'] ?? 0
  return n === 0 ? t('nobodyOffline') : t('offline', { n, time: duration((timeout_sec ?? usual) * 1000) })
}

function targetOf(
  kind: (typeof TARGETS)[number],
  names: string,
): NonNullable<BroadcastRequestBody['target']> {
  switch (kind) {
    case 'type':
      return { type: 'query', value: { type: names } }
    case 'filter': {
      const { type, value } = filterTarget(names)
      return { type, value }
    }
    case 'devices':
      return { type: kind, value: splitList(names) }
    case 'group':
    case 'tag':
      return { type: kind, value: names }
  }
}
