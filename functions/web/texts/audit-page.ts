const en = {
  notADay: (first: string, last: string) => `Enter a day from ${first} to ${last}.`,
  tooManyPeople: (most: number) => `More than ${most} people fit. Type more of the name or address.`,
  navigation: { label: 'Audit log', purpose: 'Who did what, and when.' },
}

const es: typeof en = {
  notADay: (first, last) => `Escriba un día entre el ${first} y el ${last}.`,
  tooManyPeople: (most) => `Coinciden más de ${most} personas. Escriba más del nombre o de la dirección.`,
  navigation: { label: 'Auditoría', purpose: 'Quién hizo qué, y cuándo.' },
}

/** What the front end says of the audit log outside of its pages, and of a filter that it refuses. */
export const auditPage = { en, es }
