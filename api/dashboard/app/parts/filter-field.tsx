// The field of the filter language: what is typed is the filter, each of its terms is a chip that can be taken away, and
// a term that is not understood says so and offers the nearest one.
import { useEffect, useId, useMemo, useRef } from 'preact/hooks'
import { formatQuery, formatTerm, parseQuery, type Term } from '../address/filter.ts'
import { problemOf, type TermProblem } from '../address/filter-check.ts'
import { withoutTerm } from '../address/filter-edit.ts'
import { words } from '../words/words.ts'
import { Button } from './button.tsx'
import { Icon } from './icon.tsx'
import { plainText } from './plain-text.ts'
import { useShortcuts } from './shortcuts.ts'

const t = words({
  label: ['Filter devices', 'Geräte filtern'],
  placeholder: [
    'Name, id, or status:offline group:eu seen:>10m',
    'Name, ID oder status:offline group:eu seen:>10m',
  ],
  terms: ['Filter terms', 'Teile des Filters'],
  remove: ['Remove {term}', '{term} entfernen'],
  focus: ['Filter', 'Filtern'],
  'unknown-key': ['There is no key {name}.', 'Den Schlüssel {name} gibt es nicht.'],
  'unknown-word': ['{value} is not known here.', '{value} ist hier nicht bekannt.'],
  'no-duration': ['{value} is not a duration such as 10m or 2h.', '{value} ist keine Dauer wie 10m oder 2h.'],
  'no-number': ['{value} is not a number.', '{value} ist keine Zahl.'],
  'wrong-operator': [
    '{name} needs < or > before its value, or none where it is a word.',
    '{name} braucht < oder > vor dem Wert, oder keins von beiden, wo es ein Wort ist.',
  ],
  meant: ['Use {nearest}', '{nearest} nehmen'],
})

export interface FilterFieldProps {
  readonly text: string
  readonly onText: (text: string) => void
  readonly metrics?: readonly string[]
}

export function FilterField({ text, onText, metrics = [] }: FilterFieldProps) {
  const input = useRef<HTMLInputElement>(null)
  const id = useId()
  const query = parseQuery(text)
  useShortcuts([{ keys: '/', label: t('focus'), run: () => input.current?.focus() }])
  const typed = useTyped(onText)
  useEffect(() => {
    // Typing sets the text itself; this is for the address and for chips.
    const isOld = typed.isWaiting()
    if (input.current !== null && !isOld && input.current.value !== text) input.current.value = text
  }, [text])
  const chips = query.map((term, place) => ({ term, place, problem: problemOf(term, metrics) }))
  const shown = chips.filter(({ term, problem }) => term.name !== undefined || problem !== undefined)
  return (
    <search class="filter">
      <div class="filter-box">
        <Icon name="search" />
        <label class="visually-hidden" for={id}>
          {t('label')}
        </label>
        <input
          ref={input}
          id={id}
          type="search"
          class="filter-input"
          defaultValue={text}
          placeholder={t('placeholder')}
          spellcheck={false}
          autocomplete="off"
          maxLength={1000}
          aria-describedby={shown.length > 0 ? `${id}-chips` : undefined}
          onInput={({ currentTarget }) => typed.take(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Escape') return
            event.preventDefault()
            if (text === '') event.currentTarget.blur()
            else onText('')
          }}
        />
        {text !== '' && <Button kind="quiet" icon="x" label={t('clearFilter')} onClick={() => onText('')} />}
      </div>
      {shown.length > 0 && (
        <ul class="filter-chips" id={`${id}-chips`} aria-label={t('terms')}>
          {shown.map(({ term, place, problem }) => (
            <li key={`${place} ${formatTerm(term)}`}>
              <TermChip
                term={term}
                problem={problem}
                onRemove={() => onText(formatQuery(withoutTerm(query, place)))}
                onReplace={(other) =>
                  onText(formatQuery(query.map((kept, i) => (i === place ? other : kept))))
                }
              />
            </li>
          ))}
        </ul>
      )}
    </search>
  )
}

/** The letter that was typed is drawn first, and the list for it after that: letters in between wait for nothing. */
function useTyped(onText: (text: string) => void) {
  const newest = useRef(onText)
  newest.current = onText
  return useMemo(() => {
    let waiting: string | undefined
    const tell = () => {
      const text = waiting
      waiting = undefined
      if (text !== undefined) newest.current(text)
    }
    return {
      isWaiting: () => waiting !== undefined,
      take: (text: string) => {
        if (waiting === undefined) requestAnimationFrame(() => setTimeout(tell))
        waiting = text
      },
    }
  }, [])
}

interface TermChipProps {
  readonly term: Term
  readonly problem: TermProblem | undefined
  readonly onRemove: () => void
  readonly onReplace: (term: Term) => void
}

function TermChip({ term, problem, onRemove, onReplace }: TermChipProps) {
  const text = plainText(formatTerm(term))
  const better = problem === undefined ? undefined : repaired(term, problem)
  return (
    <span class={problem === undefined ? 'chip' : 'chip chip-wrong'}>
      <code>{text}</code>
      {problem !== undefined && (
        <span class="chip-reason" role="status">
          {t(problem.kind, {
            name: plainText(term.name ?? ''),
            value: plainText('value' in problem ? problem.value : ''),
          })}
        </span>
      )}
      {better !== undefined && (
        <Button kind="quiet" onClick={() => onReplace(better)}>
          {t('meant', { nearest: formatTerm(better) })}
        </Button>
      )}
      <Button kind="quiet" icon="x" label={t('remove', { term: text })} onClick={onRemove} />
    </span>
  )
}

function repaired(term: Term, problem: TermProblem): Term | undefined {
  if (problem.kind === 'unknown-key')
    return problem.nearest === undefined ? undefined : { ...term, name: problem.nearest }
  if (problem.kind !== 'unknown-word' || problem.nearest === undefined) return undefined
  const { value, nearest } = problem
  return { ...term, values: term.values.map((other) => (other === value ? nearest : other)) }
}
