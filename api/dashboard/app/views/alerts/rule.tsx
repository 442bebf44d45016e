// One rule: the common kinds as a form, and everything as JSON. What is written is kept when saving fails.

import { useEffect, useState } from 'preact/hooks'
import type { RuleRequestBody } from '../../../../../schemas/alert-rule.ts'
import { parseJson } from '../../../../../schemas/json.ts'
import { text as textCodec } from '../../address/codecs.ts'
import { type Params, pathOf } from '../../address/routes.ts'
import { may } from '../../data/access.ts'
import { refreshAnswers, useAnswer } from '../../data/answers.ts'
import { fleet } from '../../data/client.ts'
import { useWrite } from '../../data/writes.ts'
import { navigate, queryValue } from '../../navigation/navigation.ts'
import { AnswerArea } from '../../parts/answer-area.tsx'
import { Button } from '../../parts/button.tsx'
import { ConfirmButton } from '../../parts/confirm-button.tsx'
import { JsonField } from '../../parts/json-field.tsx'
import { Page } from '../../parts/page.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { submits } from '../../parts/submits.ts'
import { words } from '../../words/words.ts'
import { fitsForm, RuleForm } from './rule-form.tsx'
import { RulePreview } from './rule-preview.tsx'
import { READY_RULES } from './rule-words.ts'

const t = words({
  removeText: [
    'The rule {name} is deleted, and its open alerts are resolved.',
    'Die Regel {name} wird gelöscht, ihre offenen Alarme werden geschlossen.',
  ],
  json: ['The rule as JSON', 'Die Regel als JSON'],
  asJson: ['Edit as JSON', 'Als JSON bearbeiten'],
  asForm: ['Edit as a form', 'Als Formular bearbeiten'],
  noForm: [
    'A form needs the target and the condition of the rule.',
    'Für ein Formular braucht die Regel ihr Ziel und ihre Bedingung.',
  ],
  ofType: [
    'This rule belongs to the device type and is edited there.',
    'Diese Regel kommt vom Gerätetyp und wird dort geändert.',
  ],
  readOnly: [
    'Editing rules needs the role operator.',
    'Ihre Rolle darf Regeln lesen; ändern braucht die Rolle Operator.',
  ],
  firing: ['{n} firing now', '{n} jetzt offen'],
})

const fromValue = queryValue('from', textCodec())
const BLANK: RuleRequestBody = {
  name: '',
  severity: 'warning',
  target: { type: 'all' },
  condition: { kind: 'threshold', metric: '', op: '>', value: 0 },
  for_sec: 0,
}

export default function Rule({ params }: { readonly params: Params }) {
  const rule_id = params['rule_id'] ?? ''
  const isNew = rule_id === 'new'
  const answer = useAnswer('getAlertRule', { rule_id }, { isWanted: !isNew })
  if (isNew) {
    const ready = READY_RULES.find(({ id }) => id === fromValue.value)
    return (
      <Page title={t('newRule')}>
        <Editor rule={ready?.rule ?? BLANK} />
      </Page>
    )
  }
  const found = answer.data
  return (
    <Page
      title={found?.name ?? t('rule')}
      mark={found !== undefined && <span class="muted">{t('firing', { n: found.state.firing })}</span>}
    >
      <AnswerArea answer={answer}>
        {({ rule_id: id, source, revision, created_by, created_at, updated_at, etag, state, ...rule }) =>
          source === 'device_type' ? (
            <>
              <p>{t('ofType')}</p>
              <pre class="card">{JSON.stringify(rule, null, 2)}</pre>
              {may('testAlertRule') && <RulePreview rule={rule} />}
            </>
          ) : (
            <Editor key={etag} rule={rule} saved={{ id, etag }} />
          )
        }
      </AnswerArea>
    </Page>
  )
}

interface EditorProps {
  readonly rule: RuleRequestBody
  readonly saved?: { readonly id: string; readonly etag: string }
}

function Editor({ rule, saved }: EditorProps) {
  const [draft, setDraft] = useState<RuleRequestBody>(rule)
  const [json, setJson] = useState<string | undefined>(undefined)
  /** A text that cannot be shown as a form. */
  const [unfit, setUnfit] = useState<string | undefined>(undefined)
  const canWrite = may('createAlertRule')
  useEffect(() => setDraft(rule), [saved?.etag])
  const write = useWrite(async () => {
    // The service checks it whole and says at which place it is wrong.
    const body = json === undefined ? draft : (parseJson(json) as RuleRequestBody)
    const { rule_id } =
      saved === undefined
        ? await fleet.createAlertRule({ body })
        : await fleet.replaceAlertRule({ rule_id: saved.id, body, ifMatch: bare(saved.etag) })
    refreshAnswers('listAlertRules', 'getAlertRule')
    navigate(pathOf('rule', { rule_id }), { replace: true })
  })
  const toJson = () => setJson(JSON.stringify(draft, null, 2))
  const toForm = () => {
    const found = parseJson(json ?? '')
    if (found === undefined) return
    if (!fitsForm(found)) {
      setUnfit(json)
      return
    }
    setDraft(found)
    setJson(undefined)
  }
  const written = json === undefined ? draft : (parseJson(json) as RuleRequestBody | undefined)
  return (
    <div class="stack">
      <form
        class="stack"
        onSubmit={submits(() => {
          if (canWrite && (json === undefined || parseJson(json) !== undefined)) void write.run()
        })}
      >
        {!canWrite && <p class="muted">{t('readOnly')}</p>}
        {json === undefined ? (
          <RuleForm rule={draft} onRule={setDraft} error={write.error.value} />
        ) : (
          <JsonField
            label={t('json')}
            text={json}
            onText={setJson}
            rows={24}
            error={json === unfit ? t('noForm') : undefined}
          />
        )}
        <ProblemCard error={write.error.value} />
        <div class="row">
          {canWrite && (
            <Button kind="primary" type="submit" icon="save" write={write}>
              {t('save')}
            </Button>
          )}
          {json === undefined ? (
            <Button onClick={toJson}>{t('asJson')}</Button>
          ) : (
            <Button onClick={toForm}>{t('asForm')}</Button>
          )}
          {canWrite && saved !== undefined && (
            <ConfirmButton
              kind="danger"
              icon="trash-2"
              action={t('delete')}
              onConfirm={async () => {
                await fleet.deleteAlertRule({ rule_id: saved.id })
                refreshAnswers('listAlertRules')
                navigate(pathOf('rules'))
              }}
            >
              <p>{t('removeText', { name: rule.name })}</p>
            </ConfirmButton>
          )}
        </div>
      </form>
      {may('testAlertRule') && <RulePreview rule={written} />}
    </div>
  )
}

/** The body has it in quotation marks, and the header's are added by the client. */
const bare = (etag: string) => etag.replaceAll('"', '')
