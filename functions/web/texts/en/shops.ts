export const shops = {
  title: 'Choose a shop',
  intro: 'You work in several shops. Choose the one to work in now.',
  role: 'Role',
  status: 'Status',
  open: 'Work in this shop',
  current: 'You work here now',
  noneTitle: 'You are in no shop yet',
  none: 'Ask an owner or an admin of your shop to invite you. Tell them the email address that you signed in with:',
  statuses: { trial: 'Trial', active: 'Active', past_due: 'Payment due', suspended: 'Suspended', cancelled: 'Closed' },
}

/** The page that stands in the place of a page of another shop. */
export const otherShop = {
  title: 'Another shop',
  acting: (shop: string) => `You are now acting in ${shop}.`,
  wanted: (shop: string) => `This page belongs to ${shop}. Nothing was changed.`,
  switch: (shop: string) => `Switch to ${shop}`,
}

export const start = {
  greeting: (name: string) => `Signed in as ${name}.`,
  role: 'Your role',
  status: 'Status of the shop',
  timezone: 'Time zone',
  mayDo: 'What you can do',
  nothing: 'Your role has no pages here yet.',
}
