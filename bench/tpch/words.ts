/** The words that the generated texts are made of, and the small tables that are only words. */

export const NATIONS: readonly (readonly [name: string, region: number])[] = [
  ...([
    ['ALGERIA', 0],
    ['ARGENTINA', 1],
    ['BRAZIL', 1],
    ['CANADA', 1],
    ['EGYPT', 4],
  ] as const),
  ...([
    ['ETHIOPIA', 0],
    ['FRANCE', 3],
    ['GERMANY', 3],
    ['INDIA', 2],
    ['INDONESIA', 2],
  ] as const),
  ...([
    ['IRAN', 4],
    ['IRAQ', 4],
    ['JAPAN', 2],
    ['JORDAN', 4],
    ['KENYA', 0],
  ] as const),
  ...([
    ['MOROCCO', 0],
    ['MOZAMBIQUE', 0],
    ['PERU', 1],
    ['CHINA', 2],
    ['ROMANIA', 3],
  ] as const),
  ...([
    ['SAUDI ARABIA', 4],
    ['VIETNAM', 2],
    ['RUSSIA', 3],
    ['UNITED KINGDOM', 3],
  ] as const),
  ['UNITED STATES', 1],
];

export const REGIONS: readonly string[] = ['AFRICA', 'AMERICA', 'ASIA', 'EUROPE', 'MIDDLE EAST'];

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

/** Names of parts have five different ones of these. */
export const COLOURS: readonly string[] = words(`
  almond antique aquamarine azure beige bisque black blanched blue blush brown burlywood burnished
  chartreuse chiffon chocolate coral cornflower cornsilk cream cyan dark deep dim dodger drab firebrick
  floral forest frosted gainsboro ghost goldenrod green grey honeydew hot indian ivory khaki lace lavender
  lawn lemon light lime linen magenta maroon medium metallic midnight mint misty moccasin navajo navy olive
  orange orchid pale papaya peach peru pink plum powder puff purple red rose rosy royal saddle salmon sandy
  seashell sienna sky slate smoke snow spring steel tan thistle tomato turquoise violet wheat white yellow`);

export const TYPES: readonly (readonly string[])[] = [
  words('STANDARD SMALL MEDIUM LARGE ECONOMY PROMO'),
  words('ANODIZED BURNISHED PLATED POLISHED BRUSHED'),
  words('TIN NICKEL BRASS STEEL COPPER'),
];

export const CONTAINERS: readonly (readonly string[])[] = [
  words('SM LG MED JUMBO WRAP'),
  words('CASE BOX BAG JAR PKG PACK CAN DRUM'),
];

export const SEGMENTS: readonly string[] = words(
  'AUTOMOBILE BUILDING FURNITURE MACHINERY HOUSEHOLD',
);
export const PRIORITIES: readonly string[] = [
  ...['1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW'],
];
export const INSTRUCTIONS: readonly string[] = [
  ...['DELIVER IN PERSON', 'COLLECT COD', 'NONE', 'TAKE BACK RETURN'],
];
export const MODES: readonly string[] = ['REG AIR', 'AIR', 'RAIL', 'SHIP', 'TRUCK', 'MAIL', 'FOB'];
