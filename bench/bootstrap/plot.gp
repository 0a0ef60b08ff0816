# Draws the file of measure.py --csv as the thesis' figures 4-11 to 4-13 do: time, CPU and peak memory of each way.
#   gnuplot -e "table='FILE.csv'" bench/bootstrap/plot.gp > bootstrap.svg
set terminal svg size 900,900 dynamic
set datafile separator ','
set style data histogram
set style fill solid 0.6
set boxwidth 0.8
set xtics rotate by -25
set yrange [0:*]
set multiplot layout 3,1
set title 'seconds from an empty directory to the head'
plot table using 2:xtic(1) every ::1 notitle
set title 'CPU seconds'
plot table using 6:xtic(1) every ::1 title 'of who joins', '' using 7 every ::1 title 'of who serves'
set title 'peak memory, MiB'
plot table using 9:xtic(1) every ::1 title 'of who joins', '' using 10 every ::1 title 'of who serves'
unset multiplot
