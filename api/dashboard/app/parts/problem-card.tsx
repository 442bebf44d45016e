// A failure: what happened, what to do about it, and the id under which the service has it in its log (D11).
import { ConnectionError, RefusalError } from '../../../../schemas/client/errors.ts'
import { errorText } from '../../../../schemas/error-text.ts'
import type { Problem } from '../../../../schemas/problem.ts'
import { useAnswer } from '../data/answers.ts'
import { words } from '../words/words.ts'
import { Button } from './button.tsx'
import { CopyField } from './copy-field.tsx'

const t = words({
  unreachable: ['The service cannot be reached.', 'Der Dienst ist nicht erreichbar.'],
  check: [
    'Check the network, and whether the service runs. What is shown below may be outdated.',
    'Prüfen Sie das Netz und ob der Dienst läuft. Was unten steht, kann veraltet sein.',
  ],
  unexpected: ['Something went wrong in the page.', 'In der Seite ist etwas schiefgegangen.'],
  retry: ['Try again', 'Noch einmal versuchen'],
  request: ['Request', 'Anfrage'],
  about: ['About this error', 'Mehr zu diesem Fehler'],
})

interface ProblemText {
  readonly title: string
  readonly detail: string
  readonly problem?: Problem
}

interface ProblemCardProps {
  /** Undefined shows nothing. */
  readonly error: unknown
  readonly onRetry?: () => void
  /** Nobody did anything: what is read out waits for its turn. */
  readonly isQuiet?: boolean
}

export function ProblemCard({ error, onRetry, isQuiet = false }: ProblemCardProps) {
  if (error === undefined) return null
  const { title, detail, problem } = told(error)
  // The service speaks English.
  const language = problem === undefined ? undefined : 'en'
  return (
    <div class="problem" role={isQuiet ? 'status' : 'alert'}>
      <strong lang={language}>{title}</strong>
      <p lang={language}>{detail}</p>
      {problem !== undefined && <Advice of={problem} />}
      {problem?.errors !== undefined && (
        <ul>
          {problem.errors.map(({ path, message }) => (
            <li key={`${path} ${message}`}>
              <code>{path}</code> {message}
            </li>
          ))}
        </ul>
      )}
      <div class="row">
        {onRetry !== undefined && <Button onClick={onRetry}>{t('retry')}</Button>}
        {problem !== undefined && (
          <>
            <a href={problem.type} target="_blank" rel="noreferrer">
              {t('about')}
            </a>
            <span class="muted" aria-hidden="true">
              {t('request')}
            </span>
            <CopyField label={t('request')} text={problem.request_id} />
          </>
        )}
      </div>
    </div>
  )
}

const OWN = '/problems/'

/** What the service says in general to do about such a problem. It never changes, so it is asked for once. */
function Advice({ of: { type, detail } }: { readonly of: Problem }) {
  const code = type.startsWith(OWN) ? type.slice(OWN.length) : ''
  const { data } = useAnswer('getProblem', { code }, { isWanted: code !== '', isFixed: true })
  // Some problems have nothing to say but their advice. Names in the advice are in backticks.
  return data === undefined || data.advice === detail ? null : (
    <p class="muted" lang="en">
      {data.advice.replaceAll('`', '')}
    </p>
  )
}

function told(error: unknown): ProblemText {
  if (error instanceof RefusalError)
    return { title: error.problem.title, detail: error.problem.detail, problem: error.problem }
  if (hasProblem(error))
    return { title: error.problem.title, detail: error.problem.detail, problem: error.problem }
  if (error instanceof ConnectionError || error instanceof TypeError)
    return { title: t('unreachable'), detail: t('check') }
  return { title: t('unexpected'), detail: errorText(error) }
}

function hasProblem(error: unknown): error is Error & { readonly problem: Problem } {
  return error instanceof Error && 'problem' in error
}
